"""Stores what a worker delivers: exactly once, or not at all with a reason.

Of a delivery that breaks the contract the beginning is kept, its job is marked failed, and nothing
else is touched.
"""

import hashlib
from uuid import UUID

import structlog
from django.conf import settings
from django.db import DataError, IntegrityError, transaction
from django.utils import timezone
from psycopg.errors import CheckViolation

from dashboard.language.contracts import Refused
from dashboard.models import Job, JobState, RefusedResult, Result, Status, Worker
from dashboard.results.core.result_format import (
    JobDelivery,
    ResultDocument,
    attempt_of,
    parse_delivery,
)
from dashboard.results.core.untrusted import unpack
from dashboard.results.services.store import JobResult, store_results
from dashboard.runs.services.leases import Stale, is_held, no_job, why_stale
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import refresh_runs

KEPT_BYTES = 2**20  # of a refused body: enough to see what is wrong with it

# How a job ends that brought no result document; after any other outcome it has failed
STATES = {
    "timeout": JobState.TIMED_OUT,
    "cancelled": JobState.CANCELLED,
}

# The columns that are read: a job's other ones, and its run's, are large or many
JOB_COLUMNS = (
    "attempt",
    "state",
    "status",
    "message",
    "log_tail",
    "planned_at",
    "finished_at",
    "lease_until",
    "worker",
    "benchmark__name",
    "benchmark__version",
    "config__name",
    "run__build",
    "run__machine",
    "run__track",
    "run__purpose",
)

logger = structlog.get_logger(__name__)


class UnknownJob(Refused):
    """A result for a job that this site does not have."""


def ingest(*, job_id: UUID, worker: Worker, body: bytes) -> str:
    """Store a delivery (gzip or plain JSON) of one attempt; the state in which the job is then.

    The same body twice gives the same rows. Raises Stale: not the attempt that counts, nothing is
    changed, whatever else is wrong with the body. Raises Refused, TooLarge, UnknownJob; the job
    that this worker was measuring has failed, and the beginning of the body is kept.
    """
    try:
        unpacked = unpack(body, settings.RESULT_LIMIT_BYTES)
        delivery = parse_delivery(unpacked)
        digest = hashlib.sha256(unpacked).hexdigest()
        try:
            return store_delivery(job_id, worker, delivery, digest)
        except IntegrityError as error:
            make_partition(job_id, error)
            return store_delivery(job_id, worker, delivery, digest)
    except Refused as error:
        refused = error
    except DataError as error:  # a number beyond a column's range
        refused = Refused(f"it cannot be stored: {error}")
    refuse(job_id=job_id, worker=worker, body=body, reason=str(refused))
    raise refused from None


def store_delivery(job_id: UUID, worker: Worker, delivery: JobDelivery, digest: str) -> str:
    """Store a checked delivery if its attempt is the one that counts. Raises Stale, Refused."""
    with transaction.atomic():
        job = lock_job(job_id)
        if delivery.result is not None:
            check_belongs(job, delivery.result)
        if not is_held(job, delivery.attempt, worker):
            raise Stale(why_stale(job, delivery.attempt, worker))
        if job.state == JobState.CANCELLED and delivery.outcome.status == "cancelled":
            return job.state
        # Lost: its last attempt was given up, and nobody else measures it
        if job.state not in (JobState.RUNNING, JobState.LOST):
            if Result.objects.filter(pk=job_id, attempt=job.attempt, digest=digest).exists():
                return job.state  # the same delivery again
            raise Stale(why_stale(job, delivery.attempt, worker))
        end_job(job, delivery)
        if job.state != JobState.CANCELLED:
            store_results([JobResult(job, digest, job.status, delivery.outcome, delivery.result)])
        refresh_runs(run_ids=[job.run_id])
    logger.info("result stored", job=str(job_id), state=job.state, status=job.status)
    return job.state


def make_partition(job_id: UUID, error: IntegrityError) -> None:
    """Make the partition that a job's data lacked; raise `error` again where it was another one.

    Planning has made it, unless that month was dropped since: too rare to look before every result.
    """
    if not isinstance(error.__cause__, CheckViolation):
        raise error
    ensure_partitions(moments=Job.objects.filter(pk=job_id).values_list("planned_at", flat=True))


def lock_job(job_id: UUID) -> Job:
    """The job, locked, with what storing its result needs of it. Raises UnknownJob."""
    jobs = Job.objects.select_for_update(of=("self",))
    try:
        return jobs.select_related("run", "benchmark", "config").only(*JOB_COLUMNS).get(pk=job_id)
    except Job.DoesNotExist:
        raise UnknownJob(no_job(job_id)) from None


def end_job(job: Job, delivery: JobDelivery) -> None:
    """Write the job's end. A result document counts, whatever the process did after writing it."""
    result, outcome = delivery.result, delivery.outcome
    if result:
        job.state, job.status = JobState.DONE, result.status
        job.message = result.message or outcome.message
    else:
        job.state = STATES.get(outcome.status, JobState.FAILED)
        job.status = "" if job.state == JobState.CANCELLED else outcome.status
        job.message = outcome.message
    job.log_tail = outcome.log_tail or job.log_tail
    job.finished_at, job.lease_until = timezone.now(), None
    job.save(update_fields=["state", "status", "message", "log_tail", "finished_at", "lease_until"])


def check_belongs(job: Job, result: ResultDocument) -> None:
    """Raise Refused for a result of another job or case than the one it is delivered for."""
    expected = {
        "job_id": str(job.pk),
        "benchmark": job.benchmark.name,
        "config": job.config.name,
    }
    for key, value in expected.items():
        if result.job[key] != value:
            raise Refused(f"result.job.{key} is {result.job[key]!r}, this job's is {value!r}")
    if result.benchmark["name"] != job.benchmark.name:
        raise Refused(
            f"result.benchmark.name is {result.benchmark['name']!r}, not {job.benchmark.name!r}"
        )


def refuse(*, job_id: UUID, worker: Worker, body: bytes, reason: str) -> None:
    """Fail the job whose delivery cannot be stored, and keep the delivery's beginning.

    Only where this worker is measuring the job: so at most one is kept for each attempt, whatever
    a broken or stolen worker sends. Raises Stale for an attempt that does not count; where the body
    does not say which it is of, it is taken to be the current one.
    """
    attempt = attempt_of(body, settings.RESULT_LIMIT_BYTES)
    with transaction.atomic():
        jobs = Job.objects.select_for_update(of=("self",))
        job = jobs.only("run", "attempt", "state", "worker").filter(pk=job_id).first()
        if job is not None and attempt is not None and not is_held(job, attempt, worker):
            raise Stale(why_stale(job, attempt, worker))
        if job is not None and job.state == JobState.RUNNING and job.worker_id == worker.pk:
            _fail(job, worker, body, reason)
    logger.warning("result refused", job=str(job_id), worker=str(worker), reason=reason)


def _fail(job: Job, worker: Worker, body: bytes, reason: str) -> None:
    kept = RefusedResult.objects.create(
        job=job, source=f"worker {worker}", reason=reason, body=body[:KEPT_BYTES]
    )
    job.state, job.status = JobState.FAILED, Status.FAIL_TO_RUN
    job.message = f"Its result was refused (kept as no. {kept.pk}): {reason}"
    job.finished_at, job.lease_until = timezone.now(), None
    job.save(update_fields=["state", "status", "message", "finished_at", "lease_until"])
    refresh_runs(run_ids=[job.run_id])
