"""The documents of the API that the client hands out, as types.

Written from the API's own description by `python docs/api_types.py`: change the schemas of the
site, then run that. A site of a later version may add fields.
"""

from typing import Any, Literal, TypedDict

AlertAction = Literal[
    "move",
    "again",
    "collect-evidence",
    "assign",
    "hand-over",
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
    # Number of points of a new level after which it is reported.
    points: int | None


class SeriesNoisierDocument(TypedDict):
    at: str
    # By how much the spread grew.
    percent: float


class SeriesDocument(TypedDict):
    """A case on a machine and a track in one metric, as the newest build measured it."""

    # Number of the series, as other calls take it.
    id: int
    benchmark: str
    config: str
    machine: str
    track: str
    metric: str
    unit: str
    # Whether a smaller value is better.
    lower_is_better: bool
    # Number of its points.
    count: int
    # The newest build of the track that measured it: the values below are its.
    build: str | None
    # Number of processes that passed on it.
    processes: int
    # When the last job on it was planned.
    at: str | None
    # Geometric mean of its processes, in `unit`; null where the case failed.
    value: float | None
    # Lower end of the 95% interval of the mean, in `unit`; of a single process within it.
    low: float | None
    # Upper end of it, in `unit`.
    high: float | None
    # How the last job on it ended.
    status: str
    # That job.
    job: str | None
    # The smallest change in percent that detection shows here in nine of ten cases; null: not known
    # yet, or the metric is not judged.
    can_show_percent: float | None
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
    # In the unit of the series' metric; null where the case failed.
    value: float | None
    # Lower end of the 95% interval within the process, in that unit.
    low: float | None
    # Upper end of it, in that unit.
    high: float | None
    # Number of samples that it was made from.
    count: int
    job: str


class CountsDocument(TypedDict):
    """How many jobs are where."""

    # Number of jobs.
    total: int
    # Number of jobs that passed.
    passed: int
    # Number of jobs that ended with any other status; cancelled ones apart.
    failed: int
    # Number of jobs that a worker has now.
    running: int
    # Number of jobs that no worker has yet.
    waiting: int
    # Number of jobs that were cancelled.
    cancelled: int


class RunDocument(TypedDict):
    """A run and how far it is."""

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
    seconds_left: float | None


class PlanDocument(TypedDict):
    """What a trigger would measure, and what that costs."""

    build: str
    machine: str
    # Benchmark and config of each job.
    cases: list[tuple[str, str]]
    # Number of jobs.
    jobs: int
    # Seconds of one worker's time, roughly, without installing the build: the budget of each job,
    # not a measurement.
    expected_s: float


class JobDocument(TypedDict):
    """One case on one build on one machine, once."""

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
    """A comparison and how far it is."""

    url: str
    # As in its address.
    id: str
    label: str
    base: str
    new: str
    machine: str
    # Of release candidates, the track that started the comparison; else null.
    track: str | None
    # Number of processes for each case and build.
    repeats: int
    # Versions of the libraries of both builds; empty: each build's own.
    libraries: dict[str, str]
    created_by: str | None
    created_at: str
    jobs: CountsDocument
    is_active: bool
    seconds_left: float | None
    # planned, queued, running, completed, failed or cancelled.
    state: str


class BisectionDocument(TypedDict):
    """A search and how far it is."""

    url: str
    id: int
    base: str
    new: str
    # Label of the newest build that is known to be like base.
    low: str
    # Label of the oldest build that is known to be like new.
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
    # The builds that were measured, and which end each is like.
    steps: list[dict[str, Any]]
    # Address of PyTorch's commits between `low` and `high`; empty: not known.
    commit_range: str
    jobs: CountsDocument
    is_active: bool
    seconds_left: float | None
    # Number of further builds that are measured, at most.
    builds_left: int


class ScheduleDocument(TypedDict):
    """families, benchmarks and configs all empty: the default selection of the machine's size."""

    # Number of the schedule, as `trigger` takes it.
    id: int
    name: str
    # Whether it triggers by itself.
    enabled: bool
    # In words, with its time zone: Every day at 02:30, Etc/UTC.
    when: str
    machine: str
    track: str
    # Names of families of models.
    families: list[str]
    # Names of benchmarks.
    benchmarks: list[str]
    # Names of configs.
    configs: list[str]
    # Number of runs after which a build is measured enough; 0: never.
    repeats: int
    # Why it triggered nothing when it was last due; empty if it did.
    problem: str


class ModelAnswerDocument(TypedDict):
    """Of one model in one mode."""

    # worse, better, mixed, same or unclear; certain or likely.
    answer: str
    # Why, with 95% intervals.
    sentence: str


class ReportedCaseDocument(TypedDict):
    """One metric of one case in both builds. Numbers are null where the case was left out."""

    benchmark: str
    config: str
    family: str
    mode: str
    metric: str
    # Of `base` and `new`.
    unit: str
    # The level of the older build, in `unit`.
    base: float | None
    # The level of the newer build, in `unit`.
    new: float | None
    # New against base, in percent.
    change_percent: float | None
    # Lower end of the 95% interval, in percent; null: there is none.
    low_percent: float | None
    # Upper end of it, in percent.
    high_percent: float | None
    # worse, better, same or unclear.
    verdict: Literal["worse", "better", "same", "unclear"] | None
    # certain or likely; null: it is not a change.
    grade: Literal["certain", "likely"] | None
    # pairs: measured in turn on one device. none: a difference without a verdict.
    basis: Literal["pairs", "trend", "none"] | None
    # Number of pairs: processes of both builds that ran next to each other.
    pairs: int | None
    # Number of processes of the older build.
    base_processes: int | None
    # Number of processes of the newer build.
    new_processes: int | None
    # How much eager changed in the same processes, in percent.
    in_eager_percent: float | None
    # How much the compiled part changed beyond eager, in percent.
    compiled_only_percent: float | None
    # Why it was not compared; empty: it was.
    left_out: str


class CaseKernelsDocument(TypedDict):
    """Which kernels account for the change of one case, by one job of each side, whose device time
    is near the median."""

    benchmark: str
    config: str
    metric: str
    # Which kernels, in words.
    sentence: str
    # Of the older build.
    base_job: str
    # Of the newer build.
    new_job: str


class ReportDocument(TypedDict):
    """The answer in words, that of each model, and every case in every metric."""

    # What is answered.
    question: str
    # For all models together.
    answer: str
    # Why, with 95% intervals.
    sentence: str
    # How much has ended, while it is measured; else empty.
    so_far: str
    # What differs besides torch's version: flavour (CPU, CUDA), environment.
    differences: str
    # Of the page.
    address: str
    # By model and mode: "gpt2 training". Training and inference are not averaged.
    models: dict[str, ModelAnswerDocument]
    # Metric by metric, the largest changes first.
    cases: list[ReportedCaseDocument]
    # Of the cases whose latency or device time changed; 40 at most.
    kernels: list[CaseKernelsDocument]


class GateFindingDocument(TypedDict):
    """One metric of one case in both builds."""

    benchmark: str
    config: str
    metric: str
    # Of `base` and `new`.
    unit: str
    # The level of the older build, in `unit`.
    base: float
    # The level of the newer build, in `unit`.
    new: float
    # worse, better, same or unclear.
    verdict: Literal["worse", "better", "same", "unclear"]
    # certain or likely; null: it is not a change.
    grade: Literal["certain", "likely"] | None
    # In words, with its 95% interval where it has one.
    change: str
    # New against base, in percent.
    percent: float | None
    # Lower end of the 95% interval, in percent; null: there is none.
    low_percent: float | None
    # Upper end of it, in percent.
    high_percent: float | None
    # Number of pairs: processes of both builds that ran next to each other.
    pairs: int
    # Number of processes of the older build.
    base_processes: int
    # Number of processes of the newer build.
    new_processes: int
    # Whether eager moved as well, or the compiled part alone.
    which_part: str


class GraphBreakDocument(TypedDict):
    benchmark: str
    config: str
    # file:line in function; empty: not known.
    location: str
    # As the compiler reports it.
    reason: str


class NotComparedDocument(TypedDict):
    benchmark: str
    config: str
    # In words.
    why: str


class GateDocument(TypedDict):
    """May this change go in? What is unclear or likely worse is neither a regression nor a pass."""

    # worse, better, mixed, same or unclear.
    verdict: Literal["worse", "better", "same", "unclear", "mixed"]
    # certain or likely; null: nothing changed.
    grade: Literal["certain", "likely"] | None
    # Code for a shell: 0 nothing got worse, 1 certainly worse, 2 measurement not possible, 3
    # unclear, or likely worse.
    exit_code: int
    # The answer in a line.
    sentence: str
    # What would decide what is open; empty where nothing is.
    advice: str
    # How much slower any step can be that did not get worse; null: not known.
    step_bound_percent: float | None
    # Pairs of each case that should decide it; null: nothing is open, or no affordable number
    # decides.
    pairs_needed: int | None
    # What got worse.
    worse: list[GateFindingDocument]
    # What can still be worse.
    unclear: list[GateFindingDocument]
    # What got better.
    better: list[GateFindingDocument]
    # Number of results that are not worse by the threshold.
    same: int
    # Cases that fail now and passed on the base.
    broken: list[str]
    # Of cases with more graph breaks: those that the base does not have.
    new_graph_breaks: list[GraphBreakDocument]
    # Cases for which one side lacks torch, a library or a device, with why.
    not_measured: list[str]
    # Cases that only one side has.
    not_compared: list[NotComparedDocument]
    # How much has ended, while it is measured; else empty.
    so_far: str
    # The answer for a pull request.
    markdown: str
    url: str


class AlertDocument(TypedDict):
    """Every series that changed with the same likely cause."""

    url: str
    # Number of the alert, as in its address.
    id: int
    # As people read it; without an interval.
    title: str
    # step, drift, status, environment or silence.
    kind: str
    # The workflow; while that is new, the evidence.
    state: str
    # How sure it is. suspected: a detector saw it, nobody measured it again. confirmed: both builds
    # were measured again in turn, and it was there.
    evidence_state: str
    # What people make of it.
    workflow_state: str
    # regression, improvement, trade_off or neutral.
    direction: str
    severity: str
    # Likely cause; unknown without positive evidence.
    cause: str
    # The same for people.
    cause_in_words: str
    # The change that stands for the alert, with its 95% interval; empty where nothing was measured.
    sentence: str
    machine: str | None
    track: str | None
    # The last build without the change.
    base: str | None
    # The first build with it.
    new: str | None
    # Null: nobody has it.
    assignee: str | None
    # Number of series that changed, without those that were withdrawn.
    series: int
    # When it was opened; ISO 8601.
    created_at: str
    # Null while it is open.
    closed_at: str | None


class ChangeDocument(TypedDict):
    """One series of the group: new minus base, once it is confirmed as the confirmation measured
    it."""

    # The change in words, with its 95% interval.
    sentence: str
    # Of the first point of the new level.
    at: str
    # regression, improvement or neutral.
    direction: str
    # In `unit`.
    effect: float | None
    # Lower end of the 95% interval, in `unit`.
    low: float | None
    # Upper end of the 95% interval, in `unit`.
    high: float | None
    # percent, or difference: in the metric's own unit.
    unit: str
    # Number of the change: what `split` takes.
    id: int
    # Number of the series.
    series: int
    benchmark: str
    config: str
    metric: str
    # As the detector first estimated it, in the metric's unit; null where it was not kept, and for
    # a status.
    level_before: float | None
    # The same after the change, in the metric's unit.
    level_after: float | None
    # What measuring this series again showed: confirmed, not_reproduced or inconclusive; empty: it
    # was not measured again.
    confirmation: str
    # Confirmed, but less than half of the first estimate.
    smaller: bool
    # Its points were judged again, as after some were excluded, and no longer show it.
    withdrawn: bool
    # As the detector first estimated it, in `unit`.
    first_effect: float | None


class EventDocument(TypedDict):
    at: str
    # Null: the system.
    by: str | None
    # What was done: opened, moved, noted, …
    action: str
    # The alert's state afterwards.
    state: str
    # Why, or the note; written by a person or by the system.
    text: str


class LinkDocument(TypedDict):
    # Of an issue or a pull request.
    url: str
    # As whoever linked it wrote it; may be empty.
    title: str


class MutedDocument(TypedDict):
    # Number of the series.
    series: int
    # From then on it raises alerts again.
    until: str
    # As whoever muted it wrote it.
    reason: str
    # Null: the system.
    by: str | None


class LeftOutDocument(TypedDict):
    """A point that a person took out of detection."""

    # Number of the point: what `bring-back` takes.
    id: int
    # Number of the series.
    series: int
    job: str
    # As whoever took it out wrote it.
    reason: str
    # Null: the system.
    by: str | None


class AlertDetailDocument(TypedDict):
    """An alert with all that its page lists. How sure it is and what caused it, in sentences: `GET
    alerts/{pk}/evidence`."""

    url: str
    # Number of the alert, as in its address.
    id: int
    # As people read it; without an interval.
    title: str
    # step, drift, status, environment or silence.
    kind: str
    # The workflow; while that is new, the evidence.
    state: str
    # How sure it is. suspected: a detector saw it, nobody measured it again. confirmed: both builds
    # were measured again in turn, and it was there.
    evidence_state: str
    # What people make of it.
    workflow_state: str
    # regression, improvement, trade_off or neutral.
    direction: str
    severity: str
    # Likely cause; unknown without positive evidence.
    cause: str
    # The same for people.
    cause_in_words: str
    # The change that stands for the alert, with its 95% interval; empty where nothing was measured.
    sentence: str
    machine: str | None
    track: str | None
    # The last build without the change.
    base: str | None
    # The first build with it.
    new: str | None
    # Null: nobody has it.
    assignee: str | None
    # Number of series that changed, without those that were withdrawn.
    series: int
    # When it was opened; ISO 8601.
    created_at: str
    # Null while it is open.
    closed_at: str | None
    # Every series of the alert: what got worse first, then what was measured again, then by size;
    # last what did not come again when it was, and what was withdrawn.
    changes: list[ChangeDocument]
    # What was looked at for the cause: `fact` (which), `says` (in words), `supports` (the cause
    # that it speaks for; empty: none).
    evidence: list[dict[str, Any]]
    # Its history, oldest first.
    events: list[EventDocument]
    # Issues and pull requests that people linked.
    links: list[LinkDocument]
    # Which of its series raise no alerts now.
    mutes: list[MutedDocument]
    # Points that people took out of detection.
    invalid_points: list[LeftOutDocument]
    # Address of PyTorch's commits between the two builds; empty: not known.
    commit_range: str
    # What a person can move it to now, as `to` of `move`.
    possible: list[str]


class EvidenceDocument(TypedDict):
    """Why one change of an alert is believed, how far, and since which build. A list is empty where
    there is nothing to say. Numbers stand in sentences, with their 95% intervals."""

    url: str
    # Number of the change.
    change: int
    # The change in words, with its 95% interval.
    sentence: str
    evidence_state: str
    # What was measured again, and what that showed.
    how_sure: list[str]
    # The likely cause, and what speaks for it.
    cause: list[str]
    # What did not move with it.
    ruled_out: list[str]
    # The last build without it and the first with it, the commits between them, and what a search
    # between them came to.
    since: list[str]
    # Other changes of the same alert; 20 at most.
    others: list[str]
    # Which kernels account for it, by one profile of each side; an arm in each.
    kernels: list[str]
    # What a failed job of the new build printed, up to 4,000 characters of its end: text of a
    # program, not of this site. Empty where it passed.
    error: str
    # How to install either build and repeat the job.
    commands: list[str]
    # What is not known.
    missing: list[str]
    # Address of the report with its files, one zip.
    archive: str


class IssueDocument(TypedDict):
    """A text for PyTorch's issue tracker. Nothing is posted: a person opens `address`."""

    # Of the issue.
    title: str
    # Markdown. Error logs in it are text of a program, not of this site.
    body: str
    # Opens the issue on GitHub with everything filled in.
    address: str
    # Titles of sections that are too long for the address.
    left_out: list[str]


class SeriesChangeDocument(TypedDict):
    """Where a series changed its level, by an alert that stands: new minus base, once it is
    confirmed as the confirmation measured it."""

    # The change in words, with its 95% interval.
    sentence: str
    # Of the first point of the new level.
    at: str
    # regression, improvement or neutral.
    direction: str
    # In `unit`.
    effect: float | None
    # Lower end of the 95% interval, in `unit`.
    low: float | None
    # Upper end of the 95% interval, in `unit`.
    high: float | None
    # percent, or difference: in the metric's own unit.
    unit: str
    # Number of the alert.
    alert: int
    # The last build without the change.
    base: str | None
    # The first build with the change.
    new: str | None
    evidence_state: str


class AheadFromDocument(TypedDict):
    """From how many steps on a config is ahead of all others."""

    config: str
    # Number of steps; 1 or less: from the first; null: not known, because the interval is too wide
    # to say (`certainty` has the best estimate).
    from_steps: float | None
    # Lower end of the 95% interval, in steps.
    low: float
    # Upper end of it, in steps; null: it is not sure that it ever is.
    high: float | None


class RankedOutDocument(TypedDict):
    """A config for the length that was asked for, the best first."""

    config: str
    # Seconds for `steps`, or number of steps in `hours`.
    amount: float
    # Lower end of the 95% interval, in the same unit.
    low: float
    # Upper end of it, in the same unit.
    high: float | None
    # How likely it is the best, as a share of 1.
    chance: float


class CostOutDocument(TypedDict):
    """What a config costs on this build, each number with its 95% interval."""

    config: str
    # Seconds until the first step is done.
    start_s: float
    # Lower end of it, in seconds.
    start_low_s: float
    # Upper end of it, in seconds.
    start_high_s: float
    # Each further step, in milliseconds.
    step_ms: float
    # Lower end of it, in milliseconds.
    step_low_ms: float
    # Upper end of it, in milliseconds.
    step_high_ms: float
    # The highest peak of compiling and running, in GB; null: not measured.
    memory_gb: float | None


class UnusableOutDocument(TypedDict):
    config: str
    # Why it cannot be used, in words.
    text: str


class AdviceDocument(TypedDict):
    """Which config to use, from what was measured of it on one machine and build."""

    benchmark: str
    machine: str
    build: str
    start: Literal["cold", "warm", "restored"]
    # The advice.
    sentence: str
    # How sure each break-even is, what may be better, what intervals assume.
    certainty: list[str]
    # For `steps` or `hours`; empty where neither was asked for.
    verdict: str
    # From few steps to many.
    ahead: list[AheadFromDocument]
    # For `steps`, else for `hours`; empty where neither was asked for.
    ranking: list[RankedOutDocument]
    # Of each config that can be used.
    costs: list[CostOutDocument]
    # Configs that cannot be used.
    unusable: list[UnusableOutDocument]
    url: str


class HitDocument(TypedDict):
    # model, benchmark, config, build, alert or run.
    kind: str
    # Its name, label or number, as other calls take it.
    key: str
    # What it is, in words; titles and labels are people's. Of a build: its channel, and the machine
    # that measured it last; others may have measured it, too.
    text: str
    url: str


class SearchDocument(TypedDict):
    # At most 5 of each kind, the best first.
    hits: list[HitDocument]


class ComparisonPlanDocument(TypedDict):
    """What `POST comparisons` would measure, and what that costs."""

    base: str
    new: str
    machine: str
    # Benchmark and config of each case.
    cases: list[tuple[str, str]]
    # Number of jobs: each case in each build, `repeats` times; more where the new build is also
    # measured under its own libraries.
    jobs: int
    # Seconds of one worker's time, roughly, without installing builds: the budget of each job, not
    # a measurement.
    expected_s: float


class JobDetailDocument(TypedDict):
    """A job with all that it reported, and the command that repeats it."""

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
    # The end of what the job printed: text of programs, not of this site.
    log_tail: str
    # The command that repeats it by hand.
    reproduce: str
    # The document (result.v1) without its samples, its units in the names of metrics; null where
    # the job brought none.
    result: dict[str, Any] | None


class RefusalDocument(TypedDict):
    # Which file or line.
    source: str
    # What is wrong, in words.
    reason: str


class ReceiptDocument(TypedDict):
    """What became of the results."""

    # Number of results that are new.
    added: int
    # Number of results that were here already.
    known: int
    # Where those of them are that are on another track or machine.
    elsewhere: list[str]
    # Results that were not taken.
    refused: list[RefusalDocument]
    # Unknown metrics: number of values of each.
    left_out: dict[str, int]
