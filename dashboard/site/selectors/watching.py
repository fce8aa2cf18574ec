"""Signs that the system keeps up: how much waits, for how long, and when workers last reported."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, Min

from dashboard.models import Delivery, DetectorState, Job, JobState, RefusedResult, Worker
from dashboard.runs.selectors.runs import WAITING

DAY = timedelta(days=1)
OPEN = (*WAITING, JobState.RUNNING)
LATELY = timedelta(minutes=15)
# Of the results that came in lately: the time between the end of the measurement and the arrival.
# At least 0: a worker's clock may be ahead of ours. Imports do not count. planned_at has the index.
_INGEST_LAG = """
SELECT max(greatest(0, extract(
    epoch FROM result.received_at - (result.document->>'finished_at')::timestamptz
)))
FROM dashboard_job AS job
JOIN dashboard_run AS run ON run.id = job.run_id
JOIN dashboard_result AS result ON result.job_id = job.uuid
WHERE job.planned_at >= %s AND run.purpose <> 'import'
      AND result.received_at >= %s AND result.document ? 'finished_at'
"""


@dataclass(frozen=True, slots=True)
class OpenJobs:
    """One state of one machine's jobs: how many, and since when the oldest is planned."""

    machine: str
    state: str
    count: int
    oldest: datetime


def open_jobs() -> list[OpenJobs]:
    """Jobs that have not ended. One query, by the index of states."""
    rows = Job.objects.filter(state__in=OPEN).order_by().values_list("run__machine__key", "state")
    return [OpenJobs(*row) for row in rows.annotate(Count("pk"), Min("planned_at"))]


def jobs_of_the_last_day(now: datetime) -> list[tuple[str, str, int]]:
    """(machine, state, count) of the jobs planned within a day. One query."""
    jobs = Job.objects.filter(planned_at__gte=now - DAY).order_by()
    rows = jobs.values_list("run__machine__key", "state")
    return list(rows.annotate(Count("pk")))


@dataclass(frozen=True, slots=True)
class WorkerReport:
    """Last report of a worker. age_s: how long ago; None: never."""

    worker: str
    machine: str
    paused: bool
    has_full_disk: bool
    age_s: float | None


def worker_reports(now: datetime) -> Iterator[WorkerReport]:
    """List the last reports of workers that may sign in. One query."""
    for worker in Worker.objects.exclude(token_hash=None).select_related("machine"):
        age_s = None
        if worker.last_seen:
            age_s = (now - worker.last_seen).total_seconds()
        yield WorkerReport(
            worker=worker.name,
            machine=worker.machine.key,
            paused=worker.paused,
            has_full_disk=bool(worker.full_disk),
            age_s=age_s,
        )


def ingest_lag_s(now: datetime) -> float | None:
    """The longest time that a result of the last 15 minutes took to arrive; None: none came.

    Of jobs that were planned within two days.
    """
    with connection.cursor() as cursor:
        cursor.execute(_INGEST_LAG, [now - 2 * DAY, now - LATELY])
        (lag,) = cursor.fetchone()
    return None if lag is None else float(lag)


def detection_due() -> tuple[int, datetime | None]:
    """Count the series that wait for detection; with the oldest of their newest data. One query."""
    due = DetectorState.objects.filter(due=True)
    totals = due.aggregate(count=Count("pk"), oldest=Min("series__last_job__finished_at"))
    return totals["count"], totals["oldest"]


def deliveries(now: datetime) -> list[tuple[str, int]]:
    """(state, count) of the messages of the last week, and of all that are not sent yet."""
    unsent = Delivery.objects.exclude(state=Delivery.State.SENT)
    counted = unsent | Delivery.objects.filter(created_at__gte=now - 7 * DAY)
    return list(counted.order_by().values_list("state").annotate(Count("pk")))


def refused_results(now: datetime) -> int:
    """Results of the last day that could not be taken in."""
    return RefusedResult.objects.filter(received_at__gte=now - DAY).count()
