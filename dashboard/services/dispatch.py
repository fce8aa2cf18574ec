"""Sends the messages that make workers ask for jobs. A message carries a job's id and attempt, nothing else.

`dispatched_at` is NULL for a job whose attempt has no message out. Losing, repeating or reordering messages does no
harm: the claim decides (services/leases.py), and what was not or is no longer out is sent by the reaper.
"""

from datetime import datetime, timedelta

import structlog
from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from dashboard.celery import app
from dashboard.models import Job, JobState, Purpose, Worker
from dashboard.services.run_state import WAITING, refresh_runs

TASK = "runner.run_job"
PRIORITIES = {  # 0 goes first: an alert waits for its confirmation, then a person for a number; the schedule can wait
    Purpose.CONFIRMATION: 0,
    Purpose.MANUAL: 2,
    Purpose.BISECTION: 4,
    Purpose.SCHEDULED: 6,
}
LOWEST_PRIORITY = 8
LAST = 9
FAIR_SHARE = 25  # jobs of a run that go before the rest of every run alike: a small run does not wait for a large one
BATCH = 500
FORGOTTEN_AFTER = timedelta(seconds=60)  # on a machine that could work and does not
WORKER_IS_ALIVE = timedelta(seconds=60)

logger = structlog.get_logger(__name__)


def dispatch(*, run_id: int | None = None) -> int:
    """Send the messages of the jobs that have none out; how many were sent.

    With the broker down the jobs stay as they are, and the reaper tries again in seconds. Never raises for that.
    """
    jobs = _take(run_id)
    sent = _send_all(jobs)
    if sent < len(jobs):
        Job.objects.filter(pk__in=[job.pk for job in jobs[sent:]], state=JobState.QUEUED).update(dispatched_at=None)
    return sent


def _take(run_id: int | None) -> list[Job]:
    """Mark jobs as dispatched before their messages go: a worker may ask for one within a millisecond."""
    with transaction.atomic():
        due = Job.objects.filter(state__in=WAITING, dispatched_at=None).order_by("planned_at", "run_id", "position")
        if run_id is not None:
            due = due.filter(run=run_id)
        jobs = list(due.select_for_update(skip_locked=True, of=("self",)).select_related("run__machine")[:BATCH])
        Job.objects.filter(pk__in=[job.pk for job in jobs]).update(state=JobState.QUEUED, dispatched_at=timezone.now())
        refresh_runs(run_ids={job.run_id for job in jobs})
    return jobs


def _send_all(jobs: list[Job]) -> int:
    """Send until the broker refuses; how many it took."""
    for sent, job in enumerate(jobs):
        try:
            send(job)
        except (OperationalError, OSError) as error:
            logger.warning("broker unreachable, jobs wait for it", waiting=len(jobs) - sent, error=str(error))
            return sent
    return len(jobs)


def send(job: Job) -> None:
    """Send one job's message to its machine's queue. Raises OperationalError when the broker cannot be reached."""
    app.send_task(
        TASK,
        args=[str(job.pk), job.attempt],
        queue=job.run.machine.queue,
        priority=priority(job),
    )


def priority(job: Job) -> int:
    """0 to 9, in the order in which Redis serves them; RabbitMQ serves the highest first."""
    place = PRIORITIES.get(Purpose(job.run.purpose), LOWEST_PRIORITY) + (job.position >= FAIR_SHARE)
    return place if app.conf.broker_url.startswith("redis") else LAST - place


def recall_forgotten() -> int:
    """Mark the jobs whose messages seem lost as not dispatched; how many.

    A message counts as lost when its machine has a living worker that is not paused, and for a minute nothing there
    was running, claimed or finished.
    """
    now = timezone.now()
    forgotten = Job.objects.filter(
        _able_worker(now), ~Exists(_activity(now)), state=JobState.QUEUED, dispatched_at__lt=now - FORGOTTEN_AFTER
    )
    return Job.objects.filter(pk__in=list(forgotten.values_list("pk", flat=True)), state=JobState.QUEUED).update(
        dispatched_at=None
    )


def _able_worker(now: datetime) -> Exists:
    return Exists(
        Worker.objects.filter(machine=OuterRef("run__machine"), paused=False, last_seen__gt=now - WORKER_IS_ALIVE)
    )


def _activity(now: datetime) -> QuerySet[Job]:
    since = now - FORGOTTEN_AFTER
    there = Job.objects.filter(run__machine=OuterRef("run__machine"))
    return there.filter(Q(state=JobState.RUNNING) | Q(claimed_at__gt=since) | Q(finished_at__gt=since))
