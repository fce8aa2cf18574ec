"""The documents of the API that the client hands out, as types; a site of a later version may add
fields.
"""

from typing import Any, Literal, TypedDict


class Series(TypedDict):
    """A case on a machine and a track in one metric, with its newest datum; low, high: its 95 %
    interval.
    """

    id: int
    benchmark: str
    config: str
    machine: str
    track: str
    metric: str
    unit: str
    lower_is_better: bool
    count: int
    at: str | None
    value: float | None
    low: float | None
    high: float | None
    status: str
    job: str | None
    url: str


class Datum(TypedDict):
    """value: None where the case failed; status says how. at: ISO 8601, UTC."""

    at: str
    build: str
    purpose: str
    status: str
    value: float | None
    low: float | None
    high: float | None
    count: int
    job: str


class Counts(TypedDict):
    total: int
    passed: int
    failed: int
    running: int
    waiting: int
    cancelled: int


class Progress(TypedDict):
    """What a run and a comparison have in common while they are followed. seconds_left: None while
    unknown.
    """

    label: str
    machine: str
    state: str
    jobs: Counts
    is_active: bool
    seconds_left: float | None
    url: str


class Run(Progress):
    id: int
    purpose: str
    build: str
    track: str
    created_by: str | None
    created_at: str
    finished_at: str | None


class Plan(TypedDict):
    """cases: benchmark and config of each job."""

    build: str
    machine: str
    cases: list[tuple[str, str]]


class Job(TypedDict):
    """status: empty until it ended."""

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
    url: str


class Comparison(Progress):
    id: str
    base: str
    new: str
    repeats: int
    libraries: dict[str, str]
    created_by: str | None
    created_at: str


class Bisection(Progress):
    """low, high: where it stands; steps: the builds that were measured, and which end each is
    like.
    """

    id: int
    base: str
    new: str
    low: str
    high: str
    benchmark: str
    config: str
    metric: str
    message: str
    steps: list[dict[str, Any]]
    commit_range: str
    builds_left: int
    created_by: str | None
    created_at: str
    finished_at: str | None


class Schedule(TypedDict):
    """when: a crontab; problem: why it triggered nothing when it was last due."""

    id: int
    name: str
    enabled: bool
    when: str
    machine: str
    track: str
    families: list[str]
    benchmarks: list[str]
    configs: list[str]
    repeats: int
    problem: str


class Report(TypedDict):
    """cases: every case in every metric, the fields of the page's CSV."""

    question: str
    answer: str
    sentence: str
    address: str
    models: dict[str, dict[str, str]]
    cases: list[dict[str, Any]]


class Gate(TypedDict):
    """exit_code: 0 passed, 1 regression, 3 unknown; advice says what would make it known."""

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
    markdown: str
    url: str


Act = Literal[
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


class Alert(TypedDict):
    id: int
    title: str
    kind: str
    state: str
    direction: str
    severity: str
    cause: str
    machine: str | None
    track: str | None
    base: str | None
    new: str | None
    assignee: str | None
    series: int
    created_at: str
    closed_at: str | None
    url: str


class Refusal(TypedDict):
    """source: which file, line or record."""

    source: str
    reason: str


class Taken(TypedDict):
    """What became of posted results. known: were there already; left_out: metrics that are not
    known there.
    """

    added: int
    known: int
    refused: list[Refusal]
    left_out: dict[str, int]
