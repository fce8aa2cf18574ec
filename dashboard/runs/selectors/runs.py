"""Runs and their jobs: lists, counts by state, and the time left."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db.models import (
    Case,
    Count,
    Exists,
    F,
    IntegerField,
    Max,
    OuterRef,
    Q,
    QuerySet,
    Sum,
    When,
)

from dashboard.catalog.core.plan import SAMPLING_S, START_S
from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Job, JobState, Purpose, Run, RunState, Series, Status, Worker

ACTIVE_RUNS = (RunState.PLANNED, RunState.QUEUED, RunState.RUNNING)
WAITING = (JobState.PLANNED, JobState.QUEUED)
ACTIVE = (*WAITING, JobState.RUNNING)
ENDED = (JobState.DONE, JobState.FAILED, JobState.TIMED_OUT, JobState.LOST, JobState.CANCELLED)
RETRYABLE = (JobState.FAILED, JobState.TIMED_OUT, JobState.LOST, JobState.CANCELLED)
# A worker is alive that was heard of within this time: it reports every few seconds
ALIVE = timedelta(seconds=60)
TAKES_JOBS = Q(paused=False, full_disk="")  # of workers, where they are alive
_IMPORT = ("label", "machine_id", "track_id")  # the runs that are alike in these are one import
BUDGETED_JOBS = 5  # how much the budget weighs in the time of a case that was never measured
# How a run page orders its jobs: what needs a person first.
_ORDER = {
    JobState.RUNNING: 1,
    JobState.QUEUED: 2,
    JobState.PLANNED: 3,
    JobState.DONE: 4,
    JobState.CANCELLED: 5,
}


@dataclass(frozen=True, slots=True)
class JobCounts:
    """Jobs of a run by state. failed: those that ended without a pass, cancelled ones apart."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    running: int = 0
    waiting: int = 0
    cancelled: int = 0

    @property
    def ended(self) -> int:
        return self.passed + self.failed + self.cancelled


_PASSED = Q(jobs__state=JobState.DONE, jobs__status=Status.PASS)
_CANCELLED = Q(jobs__state=JobState.CANCELLED)
# The fields of JobCounts, in their order, as aggregates of a run
_COUNTS = {
    "total": Count("jobs"),
    "passed": Count("jobs", filter=_PASSED),
    "failed": Count("jobs", filter=Q(jobs__state__in=ENDED) & ~_PASSED & ~_CANCELLED),
    "running": Count("jobs", filter=Q(jobs__state=JobState.RUNNING)),
    "waiting": Count("jobs", filter=Q(jobs__state__in=WAITING)),
    "cancelled": Count("jobs", filter=_CANCELLED),
}


@dataclass(frozen=True, slots=True)
class RunRow:
    """A run, or the newest of an import; counts: of all its runs."""

    run: Run
    counts: JobCounts
    runs: int = 1


@dataclass(frozen=True, slots=True)
class Progress:
    """Progress of a run.

    seconds_left: None while nothing is known or nobody works, and once it has ended.
    obstacle: why a worker of its machine begins no job, while none of the run is measured.
    """

    counts: JobCounts
    is_active: bool
    seconds_left: float | None
    workers: int = 0  # that take its jobs; of a run that has ended 0
    obstacle: str = ""


def progress(run: Run, now: datetime) -> Progress:
    """Report how far it is, however many jobs it has. One query for a run that has ended, four for
    an active one.
    """
    took = F("jobs__finished_at") - F("jobs__claimed_at")
    times = {"timed": Count(took), "took": Sum(took)}
    same_run = Run.objects.filter(pk=run.pk).order_by().annotate(**_COUNTS, **times)
    row = same_run.values(*_COUNTS, *times).get()
    timed, took_in_all = row.pop("timed"), row.pop("took") or timedelta()
    counts = JobCounts(**row)
    if run.state not in ACTIVE_RUNS:
        return Progress(counts, False, None)
    workers = workers_alive(run.machine_id, now)
    left = _seconds_left_of(run, timed, took_in_all.total_seconds(), workers, now)
    obstacle = "" if counts.running else _obstacle(run.machine_id, now)
    return Progress(counts, True, left, workers, obstacle)


def _obstacle(machine_id: int, now: datetime) -> str:
    """Explain why the machine's first living worker that begins no job does not; else empty."""
    alive = Worker.objects.filter(machine=machine_id, last_seen__gte=now - ALIVE)
    blocked = alive.exclude(full_disk="", device_holder="").first()
    return f"{blocked}: {blocked.obstacle}" if blocked else ""


def active_runs() -> list[RunRow]:
    """Runs at work, the oldest first, with their counts. One query."""
    oldest_first = listing().filter(state__in=ACTIVE_RUNS).order_by("created_at")
    rows = []
    for run in oldest_first.annotate(**_COUNTS):
        counts = JobCounts(**{name: getattr(run, name) for name in _COUNTS})
        rows.append(RunRow(run, counts))
    return rows


def with_counts(runs: Iterable[Run], *, by_import: bool = False) -> list[RunRow]:
    """``runs`` with their counts, in the same order. One query, two where there are imports.

    by_import: a run that was imported stands for all of its import.
    """
    listed = list(runs)
    same_runs = Run.objects.filter(pk__in=[run.pk for run in listed]).order_by()
    rows = same_runs.values_list("pk").annotate(**_COUNTS)
    counts = {pk: JobCounts(*numbers) for pk, *numbers in rows}
    imports = _imports([run for run in listed if run.purpose == Purpose.IMPORT and by_import])
    return [imports.get(run.pk) or RunRow(run, counts[run.pk]) for run in listed]


def _imports(runs: Sequence[Run]) -> dict[int, RunRow]:
    """By the id of a run all of its import; empty of no runs."""
    if not runs:
        return {}
    imported = Run.objects.filter(purpose=Purpose.IMPORT, label__in={run.label for run in runs})
    rows = imported.order_by().values_list(*_IMPORT).annotate(Count("pk", distinct=True), **_COUNTS)
    by_import = {tuple(row[:3]): row[3:] for row in rows}
    lines = {}
    for run in runs:
        number, *counts = by_import[run.label, run.machine_id, run.track_id]
        lines[run.pk] = RunRow(run, JobCounts(*counts), number)
    return lines


def listing(**only: str) -> QuerySet[Run]:
    """Runs, newest first; ``only`` narrows by field, an empty value does not."""
    filters = {name: value for name, value in only.items() if value}
    runs = Run.objects.filter(**filters)
    return runs.select_related("build", "track", "machine", "created_by", "schedule")


OUTCOMES = {"failures": "with failures", "passed": "all passed"}  # value of the filter -> its label


def listed(*, machine: str, track: str, outcome: str = "", **only: str) -> QuerySet[Run]:
    """As `listing`, without those of hidden machines and tracks that are not named; of each import
    the newest run (that has the outcome, of failures) alone, unless imports are asked for.

    outcome: one of OUTCOMES; empty for all.
    """
    runs = listing(machine__key=machine, track__key=track, **only)
    jobs = Job.objects.filter(run=OuterRef("pk"))
    not_passed = jobs.exclude(state=JobState.DONE, status=Status.PASS)
    imported = Run.objects.filter(purpose=Purpose.IMPORT)
    if outcome == "failures":
        failed = Exists(not_passed.filter(state__in=ENDED).exclude(state=JobState.CANCELLED))
        runs, imported = runs.filter(failed), imported.filter(failed)
    if not only.get("purpose"):
        newest = imported.order_by(*_IMPORT, "-created_at", "-pk").distinct(*_IMPORT)
        runs = runs.filter(~Q(purpose=Purpose.IMPORT) | Q(pk__in=newest.values("pk")))
    if outcome == "passed":
        runs = runs.filter(Exists(jobs), ~Exists(not_passed))
    if not machine:
        runs = runs.exclude(machine__hidden=True)
    if not track:
        runs = runs.exclude(track__hidden=True)
    return runs


def jobs_in_order(run: Run) -> QuerySet[Job]:
    """The run's jobs, failures first, then what runs, waits, and passed. Without their logs."""
    jobs = run.jobs.select_related("benchmark", "config", "worker").defer("spec", "log_tail")
    passed = When(state=JobState.DONE, status=Status.PASS, then=_ORDER[JobState.DONE])
    others = [
        When(state=state, then=rank) for state, rank in _ORDER.items() if state != JobState.DONE
    ]
    rank = Case(passed, *others, default=0, output_field=IntegerField())
    return jobs.order_by(rank, "position")


def failed(job: Job) -> bool:
    """True for a job that ended with anything but a pass; a cancelled one did not fail."""
    return job.state in ENDED and job.state != JobState.CANCELLED and job.status != Status.PASS


def count_jobs(jobs: Sequence[Job]) -> JobCounts:
    """The counts of jobs at hand, without a query."""
    return JobCounts(
        total=len(jobs),
        passed=sum(job.state == JobState.DONE and job.status == Status.PASS for job in jobs),
        failed=sum(failed(job) for job in jobs),
        running=sum(job.state == JobState.RUNNING for job in jobs),
        waiting=sum(job.state in WAITING for job in jobs),
        cancelled=sum(job.state == JobState.CANCELLED for job in jobs),
    )


def expected_seconds(run: Run) -> dict[tuple[int, int], float]:
    """Return the seconds that each case's last job took on the run's machine.

    Keys are (benchmark, config) ids. One query.
    """
    of_run = Series.objects.filter(benchmark__in=run.jobs.order_by().values("benchmark"))
    return _seconds(of_run, run.machine_id, "benchmark_id", "config_id")


def expected_job_seconds(job: Job) -> float | None:
    """Look up how long the job's case took on its machine the last time, else the longest job of
    its run so far; None while neither is known.
    """
    of_case = Series.objects.filter(benchmark=job.benchmark_id, config=job.config_id)
    seconds = _seconds(of_case, job.run.machine_id, "benchmark_id", "config_id")
    if seconds:
        return max(seconds.values())
    took = F("finished_at") - F("claimed_at")
    longest: timedelta | None = job.run.jobs.aggregate(longest=Max(took))["longest"]
    return longest.total_seconds() if longest else None


def seconds_by_case(machine_id: int) -> dict[tuple[str, str], float]:
    """Return the seconds that each case's last job took on the machine.

    Keys are names of benchmark and config. One query.
    """
    return _seconds(Series.objects.all(), machine_id, "benchmark__name", "config__name")


def _seconds(
    series: QuerySet[Series], machine_id: int, benchmark: str, config: str
) -> dict[tuple[Any, Any], float]:
    """By the two fields that name a case."""
    rows = series.filter(
        machine=machine_id, metric=STATUS_METRIC, last_job__claimed_at__isnull=False
    ).annotate(took=F("last_job__finished_at") - F("last_job__claimed_at"))
    seconds = {}
    for row in rows.values(benchmark, config, "took"):
        if row["took"]:
            seconds[row[benchmark], row[config]] = row["took"].total_seconds()
    return seconds


def workers_alive(machine_id: int, now: datetime) -> int:
    """Count the workers of the machine that take jobs. One query."""
    return Worker.objects.filter(TAKES_JOBS, machine=machine_id, last_seen__gte=now - ALIVE).count()


def seconds_left(
    jobs: Sequence[Job], expected: Mapping[tuple[int, int], float], workers: int, now: datetime
) -> float | None:
    """Seconds until the last of ``jobs`` ends, from what their cases took before and take now.

    A running job that has taken longer than its case did is taken to be half way through: what it
    has left is not known, and not nothing. A case that was never measured: see _usual_seconds. None
    while nothing is known, or nobody works.
    """
    durations = []
    for job in jobs:
        if job.finished_at and job.claimed_at:
            durations.append((job.finished_at - job.claimed_at).total_seconds())
    usual = _usual_seconds(len(durations), sum(durations), expected)
    if usual is None or not workers:
        return None
    left = 0.0
    for job in jobs:
        expected_s = expected.get((job.benchmark_id, job.config_id), usual)
        if job.state in WAITING:
            left += expected_s
        elif job.state == JobState.RUNNING:
            left += _left_of_running(expected_s, job.claimed_at, now)
    return left / workers


def _left_of_running(expected_s: float, claimed_at: datetime | None, now: datetime) -> float:
    spent_s = (now - claimed_at).total_seconds() if claimed_at else 0.0
    return expected_s - spent_s if spent_s < expected_s else spent_s


def _usual_seconds(
    ended: int, seconds: float, expected: Mapping[tuple[int, int], float]
) -> float | None:
    """Estimate how long a case takes that was never measured; None while nothing is known.

    The mean of the jobs that ended, in so many seconds altogether, or else of the expected ones;
    and of some more that take their budget: the first to end say little of the others.
    """
    if not ended:
        ended, seconds = len(expected), sum(expected.values())
    if not ended:
        return None
    return (seconds + BUDGETED_JOBS * (START_S + SAMPLING_S)) / (ended + BUDGETED_JOBS)


def _seconds_left_of(
    run: Run, ended: int, seconds: float, workers: int, now: datetime
) -> float | None:
    """As `seconds_left`, of all jobs of a run, which the database adds up. Two queries.

    ended, seconds: its finished jobs, and how long they took altogether.
    """
    expected = expected_seconds(run)
    usual = _usual_seconds(ended, seconds, expected)
    if usual is None or not workers:
        return None

    unfinished = run.jobs.order_by().filter(state__in=(*WAITING, JobState.RUNNING))
    cases = unfinished.values_list("state", "benchmark", "config", "claimed_at")
    left = 0.0
    for state, benchmark, config, claimed_at, count in cases.annotate(Count("pk")):
        expected_s = expected.get((benchmark, config), usual)
        if state == JobState.RUNNING:
            expected_s = _left_of_running(expected_s, claimed_at, now)
        left += count * expected_s
    return left / workers
