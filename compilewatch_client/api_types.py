"""The documents of the API that the client hands out, as types.

Written from the API's own description by `python docs/api_types.py`: change the schemas of the
site, then run that. A site of a later version may add fields.
"""

from typing import Any, Literal, TypedDict

AlertAction = Literal[
    "move",
    "again",
    "assign",
    "note",
    "link",
    "nudge",
    "split",
    "merge",
    "invalidate",
    "bring-back",
    "mute",
    "unmute",
]


class SeriesLimitDocument(TypedDict):
    # "wanders": its level moves by itself. "bursts": points stray and come back.
    reason: str
    # Smaller changes are not reported.
    percent: float | None
    # A new level is reported after so many of its points.
    points: int | None


class SeriesNoisierDocument(TypedDict):
    at: str
    # By how much the spread grew.
    percent: float


class SeriesDocument(TypedDict):
    """A case on a machine and a track in one metric, with its newest datum."""

    id: int
    benchmark: str
    config: str
    machine: str
    track: str
    metric: str
    unit: str
    lower_is_better: bool
    # How many data it has.
    count: int
    at: str | None
    value: float | None
    # Lower end of the 95% interval within the process.
    low: float | None
    high: float | None
    status: str
    job: str | None
    # Why changes of its level are not reported, or late; null where they are.
    limit: SeriesLimitDocument | None
    # When its spread grew while its level stayed, if that is news.
    noisier: SeriesNoisierDocument | None
    url: str


class DatumDocument(TypedDict):
    at: str
    build: str
    purpose: str
    # A case that failed is data: its value is null.
    status: str
    value: float | None
    low: float | None
    high: float | None
    # Samples that it was made from.
    count: int
    job: str


class CountsDocument(TypedDict):
    """How many jobs are where. failed: ended with any status but pass, cancelled ones apart."""

    total: int
    passed: int
    failed: int
    running: int
    waiting: int
    cancelled: int


class RunDocument(TypedDict):
    url: str
    id: int
    label: str
    purpose: str
    # planned, queued, running, completed, failed or cancelled.
    state: str
    build: str
    machine: str
    track: str
    created_by: str | None
    created_at: str
    finished_at: str | None
    jobs: CountsDocument
    is_active: bool
    # Roughly; null while nothing is known, or nobody works.
    seconds_left: float | None


class PlanDocument(TypedDict):
    """What a trigger would measure."""

    build: str
    machine: str
    # Benchmark and config of each job.
    cases: list[tuple[str, str]]


class JobDocument(TypedDict):
    """One case on one build on one machine, once. status: empty until it ended."""

    url: str
    id: str
    run: int
    benchmark: str
    config: str
    build: str
    machine: str
    state: str
    status: str
    message: str
    attempt: int
    worker: str | None
    phase: str
    planned_at: str
    claimed_at: str | None
    finished_at: str | None


class ComparisonDocument(TypedDict):
    url: str
    id: str
    label: str
    base: str
    new: str
    machine: str
    # Processes for each case and build.
    repeats: int
    libraries: dict[str, str]
    created_by: str | None
    created_at: str
    # As a run's.
    state: str
    jobs: CountsDocument
    is_active: bool
    seconds_left: float | None


class BisectionDocument(TypedDict):
    """steps: the builds that were measured, and which end each is like. builds_left: how many more
    at most."""

    url: str
    id: int
    base: str
    new: str
    low: str
    high: str
    machine: str
    benchmark: str
    config: str
    metric: str
    # running, found, inconclusive, failed or cancelled.
    state: str
    message: str
    created_by: str | None
    created_at: str
    finished_at: str | None
    label: str
    steps: list[dict[str, Any]]
    commit_range: str
    jobs: CountsDocument
    is_active: bool
    seconds_left: float | None
    builds_left: int


class ScheduleDocument(TypedDict):
    """families, benchmarks and configs all empty: the default selection of the machine's size."""

    id: int
    name: str
    enabled: bool
    # A crontab with its time zone.
    when: str
    machine: str
    track: str
    families: list[str]
    benchmarks: list[str]
    configs: list[str]
    # Runs after which a build is measured enough; 0: never.
    repeats: int
    # Why it triggered nothing when it was last due; empty if it did.
    problem: str


class CaseKernelsDocument(TypedDict):
    """Which kernels account for the change of one case, by one job of each side: that whose device
    time is nearest the median."""

    benchmark: str
    config: str
    metric: str
    sentence: str
    base_job: str
    new_job: str


class ReportDocument(TypedDict):
    """Every case in every metric, and the answer in words. flavours: what else differs where the
    builds are of different flavours (CPU, CUDA). address: of the page. kernels: of the cases whose
    latency or device time changed. so_far: how much has ended, while it is measured; else empty."""

    question: str
    answer: str
    sentence: str
    so_far: str
    flavours: str
    address: str
    models: dict[str, dict[str, str]]
    cases: list[dict[str, Any]]
    kernels: list[CaseKernelsDocument]


class GateDocument(TypedDict):
    """exit_code: 0 passed, 1 a regression, 3 not known yet. advice: what would make it known.
    so_far: how much has ended, while it is measured; else empty."""

    state: Literal["passed", "regression", "unknown"]
    exit_code: int
    sentence: str
    advice: str
    processes_needed: int | None
    regressions: list[dict[str, Any]]
    unknown: list[dict[str, Any]]
    improvements: list[dict[str, Any]]
    unchanged: int
    broken: list[str]
    not_compared: list[dict[str, str]]
    so_far: str
    markdown: str
    url: str


class AlertDocument(TypedDict):
    """Every series that changed with the same likely cause. series: how many.

    evidence_state: how sure it is. workflow_state: what people make of it. state: either."""

    url: str
    id: int
    title: str
    kind: str
    state: str
    evidence_state: str
    workflow_state: str
    direction: str
    severity: str
    cause: str
    machine: str | None
    track: str | None
    base: str | None
    new: str | None
    assignee: str | None
    # Another system measured it: it is never confirmed.
    from_imports: bool
    series: int
    created_at: str
    closed_at: str | None


class RefusalDocument(TypedDict):
    source: str
    reason: str


class ReceiptDocument(TypedDict):
    """known: results that were here already. left_out: unknown metrics, and how often. judged:
    series that detection will judge."""

    added: int
    known: int
    refused: list[RefusalDocument]
    left_out: dict[str, int]
    judged: int
