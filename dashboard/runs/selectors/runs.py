"""Runs and their jobs: lists, counts by state, and the time left."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from statistics import fmean

from django.db.models import Count, F, Q, QuerySet

from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Job, JobState, Run, RunState, Series, Status, Worker

ACTIVE_RUNS = (RunState.PLANNED, RunState.QUEUED, RunState.RUNNING)
WAITING = (JobState.PLANNED, JobState.QUEUED)
ENDED = (JobState.DONE, JobState.FAILED, JobState.TIMED_OUT, JobState.LOST, JobState.CANCELLED)
RETRYABLE = (JobState.FAILED, JobState.TIMED_OUT, JobState.LOST, JobState.CANCELLED)
# A worker is alive that was heard of within this time: it reports every few seconds
ALIVE = timedelta(seconds=60)
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
    """How many jobs of a run are where. failed: ended without a pass, cancelled ones apart."""

    total: int = 0
    passed: int = 0
    failed: int = 0
    running: int = 0
    waiting: int = 0
    cancelled: int = 0

    @property
    def ended(self) -> int:
        return self.passed + self.failed + self.cancelled


@dataclass(frozen=True, slots=True)
class RunRow:
    run: Run
    counts: JobCounts


@dataclass(frozen=True, slots=True)
class Progress:
    """How far a run is.

    seconds_left: None while nothing is known or nobody works, and once it has ended.
    """

    counts: JobCounts
    is_active: bool
    seconds_left: float | None


def progress(run: Run, now: datetime) -> Progress:
    """How far it is. One query of a run that has ended, three of an active one."""
    jobs = jobs_of(run)
    if run.state not in ACTIVE_RUNS:
        return Progress(count_jobs(jobs), False, None)
    workers = workers_alive(run.machine_id, now)
    left = seconds_left(jobs, expected_seconds(run), workers, now)
    return Progress(count_jobs(jobs), True, left)


def counts_by_run(runs: Iterable[int]) -> dict[int, JobCounts]:
    """Counts by run id; a run without jobs is missing. One query."""
    jobs = Job.objects.filter(run__in=list(runs)).order_by()
    rows = jobs.values_list("run").annotate(**_count_aggregates())
    return {run: JobCounts(*numbers) for run, *numbers in rows}


def _count_aggregates(path: str = "") -> dict[str, Count]:
    """The fields of JobCounts, in their order, as aggregates.

    path: how to get from the rows to their jobs, as "jobs__".
    """
    passed = Q(**{f"{path}state": JobState.DONE, f"{path}status": Status.PASS})
    cancelled = Q(**{f"{path}state": JobState.CANCELLED})
    ended = Q(**{f"{path}state__in": ENDED})
    running = Q(**{f"{path}state": JobState.RUNNING})
    waiting = Q(**{f"{path}state__in": WAITING})
    job = f"{path}pk"
    return {
        "total": Count(job),
        "passed": Count(job, filter=passed),
        "failed": Count(job, filter=ended & ~passed & ~cancelled),
        "running": Count(job, filter=running),
        "waiting": Count(job, filter=waiting),
        "cancelled": Count(job, filter=cancelled),
    }


def active_runs() -> list[RunRow]:
    """Runs at work, the oldest first, with their counts. One query."""
    aggregates = _count_aggregates("jobs__")
    oldest_first = listing().filter(state__in=ACTIVE_RUNS).order_by("created_at")
    rows = []
    for run in oldest_first.annotate(**aggregates):
        counts = JobCounts(**{name: getattr(run, name) for name in aggregates})
        rows.append(RunRow(run, counts))
    return rows


def with_counts(runs: Iterable[Run]) -> list[RunRow]:
    """``runs`` with their counts, in the same order."""
    listed = list(runs)
    counts = counts_by_run(run.pk for run in listed)
    return [RunRow(run, counts.get(run.pk, JobCounts())) for run in listed]


def listing(**only: str) -> QuerySet[Run]:
    """Runs, newest first; ``only`` narrows by field, an empty value does not."""
    filters = {name: value for name, value in only.items() if value}
    runs = Run.objects.filter(**filters)
    return runs.select_related("build", "track", "machine", "created_by", "schedule")


def jobs_of(run: Run) -> list[Job]:
    """The run's jobs, failures first, then what runs, waits, and passed. Without their logs."""
    jobs = run.jobs.select_related("benchmark", "config", "worker").defer("spec", "log_tail")
    return sorted(jobs, key=lambda job: (_rank(job), job.position))


def _rank(job: Job) -> int:
    if failed(job):
        return 0
    return _ORDER.get(JobState(job.state), 0)


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
    """How long each case's last job took on the run's machine; keys are (benchmark, config) ids.

    One query.
    """
    series = Series.objects.filter(
        machine=run.machine,
        metric=STATUS_METRIC,
        last_job__claimed_at__isnull=False,
        benchmark__in=run.jobs.order_by().values("benchmark"),
    )
    took = F("last_job__finished_at") - F("last_job__claimed_at")
    seconds = {}
    for row in series.annotate(took=took).values("benchmark_id", "config_id", "took"):
        if row["took"]:
            seconds[row["benchmark_id"], row["config_id"]] = row["took"].total_seconds()
    return seconds


def workers_alive(machine_id: int, now: datetime) -> int:
    """How many workers of the machine take jobs. One query."""
    return Worker.objects.filter(
        machine=machine_id, paused=False, last_seen__gte=now - ALIVE
    ).count()


def seconds_left(
    jobs: Sequence[Job], expected: Mapping[tuple[int, int], float], workers: int, now: datetime
) -> float | None:
    """Seconds until the last of ``jobs`` ends, from what their cases took before and take now.

    A case that was never measured counts as the mean of the finished jobs, or else of all expected
    ones. None while nothing is known, or nobody works.
    """
    durations = _durations(jobs) or list(expected.values())
    if not durations or not workers:
        return None
    usual = fmean(durations)
    left = 0.0
    for job in jobs:
        if job.state in WAITING or job.state == JobState.RUNNING:
            total = expected.get((job.benchmark_id, job.config_id), usual)
            left += max(total - _seconds_spent(job, now), 0.0)
    return left / workers


def _durations(jobs: Sequence[Job]) -> list[float]:
    durations = []
    for job in jobs:
        if job.finished_at and job.claimed_at:
            durations.append((job.finished_at - job.claimed_at).total_seconds())
    return durations


def _seconds_spent(job: Job, now: datetime) -> float:
    if job.state == JobState.RUNNING and job.claimed_at:
        return (now - job.claimed_at).total_seconds()
    return 0.0
