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
# a worker that was heard of within this time; it reports every few seconds
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
    """How many jobs of a run are where. failed: ended with any status but pass, cancelled ones
    apart.
    """

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
    """How far a run is. seconds_left: None while nothing is known or nobody works, and once it has
    ended.
    """

    counts: JobCounts
    is_active: bool
    seconds_left: float | None


def progress(run: Run, now: datetime) -> Progress:
    """How far it is. One query of a run that has ended, three of an active one."""
    jobs = jobs_of(run)
    if run.state not in ACTIVE_RUNS:
        return Progress(count_jobs(jobs), False, None)
    left = seconds_left(jobs, expected_seconds(run), workers_alive(run.machine_id, now), now)
    return Progress(count_jobs(jobs), True, left)


def counts(runs: Iterable[int]) -> dict[int, JobCounts]:
    """Counts by run id; a run without jobs is missing. One query."""
    rows = (
        Job.objects.filter(run__in=list(runs)).order_by().values_list("run").annotate(**_counted())
    )
    return {run: JobCounts(*counted) for run, *counted in rows}


def _counted(of: str = "") -> dict[str, Count]:
    """The fields of Counts, in their order, as aggregates over jobs; ``of``: how to get to them, as
    "jobs__".
    """
    passed = Q(**{f"{of}state": JobState.DONE, f"{of}status": Status.PASS})
    cancelled, ended = Q(**{f"{of}state": JobState.CANCELLED}), Q(**{f"{of}state__in": ENDED})
    only = {
        "passed": passed,
        "failed": ended & ~passed & ~cancelled,
        "running": Q(**{f"{of}state": JobState.RUNNING}),
        "waiting": Q(**{f"{of}state__in": WAITING}),
        "cancelled": cancelled,
    }
    return {
        "total": Count(f"{of}pk"),
        **{name: Count(f"{of}pk", filter=which) for name, which in only.items()},
    }


def active() -> list[RunRow]:
    """Runs at work, the oldest first, with their counts. One query."""
    counted = _counted("jobs__")
    found = listing().filter(state__in=ACTIVE_RUNS).order_by("created_at").annotate(**counted)
    return [
        RunRow(run, JobCounts(**{name: getattr(run, name) for name in counted})) for run in found
    ]


def with_counts(runs: Iterable[Run]) -> list[RunRow]:
    """``runs`` with their counts, in the same order."""
    listed = list(runs)
    known = counts(run.pk for run in listed)
    return [RunRow(run, known.get(run.pk, JobCounts())) for run in listed]


def listing(**only: str) -> QuerySet[Run]:
    """Runs, newest first; ``only`` narrows by field, empty values by nothing."""
    return Run.objects.filter(
        **{name: value for name, value in only.items() if value}
    ).select_related("build", "track", "machine", "created_by", "schedule")


def jobs_of(run: Run) -> list[Job]:
    """The run's jobs, failures first, then what runs, waits, and passed. Without their logs."""
    found = run.jobs.select_related("benchmark", "config", "worker").defer("spec", "log_tail")
    return sorted(found, key=lambda job: (_rank(job), job.position))


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
    """How long the last job of each case took on the run's machine, by (benchmark, config) id. One
    query.
    """
    rows = (
        Series.objects.filter(
            machine=run.machine, metric=STATUS_METRIC, last_job__claimed_at__isnull=False
        )
        .filter(benchmark__in=run.jobs.order_by().values("benchmark"))
        .annotate(took=F("last_job__finished_at") - F("last_job__claimed_at"))
        .values_list("benchmark_id", "config_id", "took")
    )
    return {(benchmark, config): took.total_seconds() for benchmark, config, took in rows if took}


def workers_alive(machine_id: int, now: datetime) -> int:
    """How many workers of the machine take jobs. One query."""
    return Worker.objects.filter(
        machine=machine_id, paused=False, last_seen__gte=now - ALIVE
    ).count()


def seconds_left(
    jobs: Sequence[Job], expected: Mapping[tuple[int, int], float], workers: int, now: datetime
) -> float | None:
    """Seconds until the last of ``jobs`` ends, from what their cases took before and the finished
    ones take now.

    A case that was never measured counts as the mean of those known. None while nothing is known,
    or nobody works.
    """
    took = [
        (job.finished_at - job.claimed_at).total_seconds()
        for job in jobs
        if job.finished_at and job.claimed_at
    ]
    known = took or list(expected.values())
    if not known or not workers:
        return None
    usual = fmean(known)
    left = 0.0
    for job in jobs:
        if job.state in WAITING or job.state == JobState.RUNNING:
            whole = expected.get((job.benchmark_id, job.config_id), usual)
            spent = (
                (now - job.claimed_at).total_seconds()
                if job.state == JobState.RUNNING and job.claimed_at
                else 0.0
            )
            left += max(whole - spent, 0.0)
    return left / workers
