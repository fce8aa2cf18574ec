"""Leases of jobs: the one in the database decides who measures a job, and one attempt counts.

A claim is one conditional UPDATE on the job's own columns: of two claims at the same time Postgres
lets one find the row as it expects it. No condition may reach into another table, or the loser
would judge by an old snapshot. Leases go by the database's clock: there is one, whatever the clocks
of web servers and dashboard workers do.
"""

from collections.abc import Iterable
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import F, Q
from django.db.models.expressions import CombinedExpression
from django.db.models.functions import Now
from django.utils import timezone

from dashboard.models import Job, JobState, Worker
from dashboard.runs.services.binding import bind_cases
from dashboard.runs.services.dispatch import dispatch, send_next
from dashboard.runs.services.run_state import mark_running, refresh_runs

FULL_DISK = "the disk of its worker was full, which does not count"

logger = structlog.get_logger(__name__)


class Stale(Exception):
    """Not the attempt that counts, or not this worker's job: drop it. The text says why."""


def claim(*, job_id: UUID, attempt: int, worker: Worker, boot_id: str) -> Job:
    """Give the job to the worker until its lease ends. The same claim twice gets the same answer.

    Raises Stale: another attempt counts, another worker has it, it is over, or this worker may not
    take it.
    """
    job = find_job(job_id)
    check_claim(job, worker, boot_id)
    note_device_holder(worker, "")
    if job.bound_to_id is None and (job.run.session or job.run.confirmation_id):
        # This worker may have come, or come back, after the message was sent to the machine's queue
        bind_cases(machine_id=worker.machine_id)
    with transaction.atomic():
        mine = Q(bound_to=None) | Q(bound_to=worker)
        waiting = Job.objects.filter(mine, pk=job_id, attempt=attempt, state=JobState.QUEUED)
        claimed = waiting.update(
            state=JobState.RUNNING,
            worker=worker,
            phase="",
            log_tail="",
            message="",
            claimed_at=timezone.now(),
            lease_until=new_lease(),
        )
        if claimed:
            mark_running(run_id=job.run_id)
            # Its message is used up: send the next one
            transaction.on_commit(partial(send_next, machine_id=worker.machine_id))
        elif not renew(job_id, attempt, worker):
            raise Stale(why_stale(find_job(job_id), attempt, worker))
    return job


def check_waiting(
    *, job_id: UUID, attempt: int, worker: Worker, boot_id: str, held_by: str = ""
) -> Job:
    """The job that waits. Raises Stale where a claim would: the worker need not wait for its device
    then.

    held_by: who has the device; empty where the job does not wait for it.
    """
    job = find_job(job_id)
    check_claim(job, worker, boot_id)
    is_queued = job.attempt == attempt and job.state == JobState.QUEUED
    is_due = is_queued and job.bound_to_id in (None, worker.pk)
    note_device_holder(worker, held_by if is_due else "")
    if not is_due:
        raise Stale(why_stale(job, attempt, worker))
    return job


def note_device_holder(worker: Worker, holder: str) -> None:
    if worker.device_holder != holder:
        worker.device_holder = holder
        worker.save(update_fields=["device_holder"])


def check_claim(job: Job, worker: Worker, boot_id: str) -> None:
    """Raise Stale where this worker may not take this job, whatever the job's state is."""
    if job.run.machine_id != worker.machine_id:
        raise Stale(
            f"Job {job.pk} is for machine {job.run.machine}, worker {worker} is on "
            f"{worker.machine}."
        )
    if boot_id != worker.boot_id:
        raise Stale(f"Another process of worker {worker} has said hello since: say hello again.")
    if worker.paused:
        raise Stale(f"Worker {worker} is paused. Resume it in the admin.")


def heartbeat(*, job_id: UUID, attempt: int, worker: Worker, phase: str, log_tail: str) -> bool:
    """Renew the lease and note what the suite does; whether to cancel the job. Raises Stale."""
    if renew(job_id, attempt, worker, phase=phase[:40], log_tail=log_tail):
        return False
    job = find_job(job_id)
    if job.state == JobState.CANCELLED and is_held(job, attempt, worker):
        return True
    raise Stale(why_stale(job, attempt, worker))


def renew(job_id: UUID, attempt: int, worker: Worker, **noted: Any) -> bool:
    """Start the lease again if the job is running in this attempt on this worker; False if not."""
    held = Job.objects.filter(pk=job_id, attempt=attempt, worker=worker, state=JobState.RUNNING)
    return bool(held.update(lease_until=new_lease(), **noted))


def hand_back(*, job_id: UUID, attempt: int, worker: Worker, counts: bool = True) -> None:
    """Queue a job again that its worker gives up, without waiting for the lease's end.

    counts: whether the attempt is one of those that the job has; not where the worker's disk was
    full. Raises Stale.
    """
    why = "its worker left" if counts else FULL_DISK
    with transaction.atomic():
        held = Job.objects.filter(pk=job_id, attempt=attempt, worker=worker)
        running = held.filter(state=JobState.RUNNING)
        if not counts:
            running.update(max_attempts=F("max_attempts") + 1)
        if not requeue(running.select_for_update(), why):
            raise Stale(why_stale(find_job(job_id), attempt, worker))
        transaction.on_commit(partial(dispatch, machine_id=worker.machine_id))


def reap() -> int:
    """Queue the jobs whose lease has expired again, or mark them lost; how many."""
    with transaction.atomic():
        expired = Job.objects.filter(state=JobState.RUNNING, lease_until__lt=Now())
        return requeue(expired.select_for_update(skip_locked=True), "its worker fell silent")


def void_claims(*, worker: Worker) -> int:
    """Queue the running jobs of a worker again whose process has ended; how many."""
    with transaction.atomic():
        held = Job.objects.filter(state=JobState.RUNNING, worker=worker)
        return requeue(held.select_for_update().order_by("pk"), "its worker was started again")


def requeue(jobs: Iterable[Job], why: str) -> int:
    """Queue locked, running jobs under their next attempt, or mark them lost. dispatch() sends
    their messages.
    """
    ended = list(jobs)
    for job in ended:
        if job.attempt >= job.max_attempts:
            job.message = (
                f"Lost after {job.attempt} attempts: {why} each time. Look at the worker's "
                "log and the machine, then retry."
            )
            job.state = JobState.LOST
            job.finished_at = timezone.now()
        else:
            job.message = f"Attempt {job.attempt} ended without a result: {why}. Queued again."
            job.state = JobState.QUEUED
            job.attempt += 1
            job.worker = job.claimed_at = job.dispatched_at = None
            job.phase = ""
        job.lease_until = None
        job.save()
        logger.warning(
            "job attempt ended without a result", job=str(job.pk), state=job.state, why=why
        )
    refresh_runs(run_ids={job.run_id for job in ended})
    return len(ended)


def find_job(job_id: UUID) -> Job:
    """The job with its run and machine. Raises Stale when there is none."""
    jobs = Job.objects.select_related("run__machine", "run__build__base", "benchmark", "config")
    try:
        return jobs.get(pk=job_id)
    except Job.DoesNotExist:
        raise Stale(no_job(job_id)) from None


def no_job(job_id: UUID) -> str:
    return f"There is no job {job_id}: it was deleted, or belongs to another site."


def is_held(job: Job, attempt: int, worker: Worker) -> bool:
    return job.attempt == attempt and job.worker_id == worker.pk


def why_stale(job: Job, attempt: int, worker: Worker) -> str:
    if job.attempt != attempt:
        return f"Attempt {attempt} of job {job.pk} no longer counts: {job.attempt} does."
    if job.worker_id is not None and job.worker_id != worker.pk:
        return f"Job {job.pk} is worker {job.worker}'s, not {worker}'s."
    if job.state == JobState.QUEUED and job.bound_to_id not in (None, worker.pk):
        return f"Job {job.pk} is bound to worker {job.bound_to}, which measures all of its case."
    return f"Job {job.pk} is {job.state}."


def new_lease() -> CombinedExpression:
    return Now() + timedelta(seconds=settings.LEASE_S)
