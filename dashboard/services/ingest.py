"""Takes in what a worker delivers: exactly once, or not at all with a reason.

A delivery that breaks the contract is kept as it came, its job is marked failed, and nothing else is touched.
"""

import hashlib
from typing import Any
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, transaction
from django.utils import timezone

from dashboard.models import Job, JobState, RefusedResult, Result, Status, Worker
from dashboard.result_format import Delivery, Refused, ResultDocument, TooLarge, parse_delivery, unpack
from dashboard.services.landing import Landing, land
from dashboard.services.leases import Stale, find_job, is_held, why_stale
from dashboard.services.partitions import ensure_partitions
from dashboard.services.run_state import refresh_runs

STATES = {  # how a job ends that brought no result document
    "timeout": JobState.TIMED_OUT,
    "cancelled": JobState.CANCELLED,
}

logger = structlog.get_logger(__name__)


class UnknownJob(Refused):
    """A result for a job that this site does not have."""


def ingest(*, job_id: UUID, worker: Worker, body: bytes) -> str:
    """Take in a delivery (gzip or plain JSON) of one attempt; the state in which the job is then.

    The same body twice gives the same rows. Raises Stale: not the attempt that counts, nothing is changed.
    Raises Refused, TooLarge, UnknownJob: the body is kept as a RefusedResult, and its job has failed.
    """
    try:
        job = find_job(job_id)
    except Stale as error:
        refuse(job=None, worker=worker, body=body, reason=str(error))
        raise UnknownJob(str(error)) from None
    try:
        unpacked = unpack(body, settings.RESULT_LIMIT_BYTES)
        delivery = parse_delivery(unpacked)
        if delivery.result is not None:
            check_belongs(job, delivery.result)
    except Refused as error:
        refuse(job=job, worker=worker, body=body, reason=str(error))
        raise
    ensure_partitions(moments=[job.planned_at])
    try:
        return take_in(job_id, worker, delivery, hashlib.sha256(unpacked).hexdigest())
    except DataError as error:  # a number beyond a column's range
        refuse(job=job, worker=worker, body=body, reason=f"it cannot be stored: {error}")
        raise Refused(f"it cannot be stored: {error}") from None


def take_in(job_id: UUID, worker: Worker, delivery: Delivery, digest: str) -> str:
    """Land a checked delivery if its attempt is the one that counts. Raises Stale."""
    with transaction.atomic():
        job = Job.objects.select_for_update(of=("self",)).select_related("run", "benchmark").get(pk=job_id)
        if not is_held(job, delivery.attempt, worker):
            raise Stale(why_stale(job, delivery.attempt, worker))
        if job.state == JobState.CANCELLED and delivery.outcome.status == "cancelled":
            return job.state
        if Result.objects.filter(pk=job_id, attempt=job.attempt, digest=digest).exists():
            return job.state
        if job.state != JobState.RUNNING:
            raise Stale(why_stale(job, delivery.attempt, worker))
        end_job(job, delivery)
        if job.state != JobState.CANCELLED:
            land([Landing(job, digest, job.status, delivery.outcome, delivery.result)])
        refresh_runs(run_ids=[job.run_id])
    logger.info("result landed", job=str(job_id), state=job.state, status=job.status)
    return job.state


def end_job(job: Job, delivery: Delivery) -> None:
    """Write the job's end: a result document counts, whatever happened to the process after it was written."""
    result, outcome = delivery.result, delivery.outcome
    job.state = JobState.DONE if result else STATES.get(outcome.status, JobState.FAILED)
    if result:
        job.status, job.message = result.status, result.message or outcome.message
    else:
        job.status = "" if job.state == JobState.CANCELLED else outcome.status
        job.message = outcome.message
    job.log_tail = outcome.log_tail or job.log_tail
    job.finished_at, job.lease_until = timezone.now(), None
    job.save(update_fields=["state", "status", "message", "log_tail", "finished_at", "lease_until"])


def check_belongs(job: Job, result: ResultDocument) -> None:
    """Raise Refused for a result that tells of another job or case than the one it is delivered for."""
    expected: dict[str, Any] = {"job_id": str(job.pk), "benchmark": job.benchmark.name, "config": job.config.name}
    for key, value in expected.items():
        if result.job[key] != value:
            raise Refused(f"result.job.{key} is {result.job[key]!r}, this job's is {value!r}")
    if result.benchmark["name"] != job.benchmark.name:
        raise Refused(f"result.benchmark.name is {result.benchmark['name']!r}, not {job.benchmark.name!r}")


def refuse(*, job: Job | None, worker: Worker, body: bytes, reason: str) -> RefusedResult:
    """Keep a delivery that cannot be taken in, and fail its job if this worker is measuring it."""
    with transaction.atomic():
        kept = RefusedResult.objects.create(
            job=job, source=f"worker {worker}", reason=reason, body=body[: settings.RESULT_LIMIT_BYTES]
        )
        if job is not None and _fail(job, worker, f"Its result was refused (kept as no. {kept.pk}): {reason}"):
            refresh_runs(run_ids=[job.run_id])
    logger.warning("result refused", job=job and str(job.pk), worker=str(worker), reason=reason, kept=kept.pk)
    return kept


def _fail(job: Job, worker: Worker, message: str) -> bool:
    held = Job.objects.filter(pk=job.pk, state=JobState.RUNNING, worker=worker)
    return bool(
        held.update(
            state=JobState.FAILED,
            status=Status.FAIL_TO_RUN,
            message=message,
            finished_at=timezone.now(),
            lease_until=None,
        )
    )


__all__ = ["Refused", "TooLarge", "UnknownJob", "ingest"]
