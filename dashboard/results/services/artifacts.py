"""Files that jobs leave: generated code, traces.

The bytes go to Django's storage: dashboard/results/core/artifact_store.py.
"""

import hashlib
import re
from collections.abc import Callable
from uuid import UUID

import structlog
from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction

from dashboard.language.contracts import Refused, TooLarge
from dashboard.models import Artifact, Job, JobState, Worker
from dashboard.results.core.artifact_store import StoreUnavailable
from dashboard.runs.services.leases import Stale, find_job, is_held, why_stale

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # a file name, never a path
KEEPING = (JobState.RUNNING, JobState.DONE, JobState.FAILED, JobState.TIMED_OUT)
Check = Callable[[Job], None]  # raises where the job takes no artifact

logger = structlog.get_logger(__name__)


def store_artifact(*, job_id: UUID, attempt: int, worker: Worker, name: str, content: bytes) -> str:
    """Keep a file of the attempt that counts, before or after its result; return its SHA-256.

    Sent twice, it is kept once. Raises Stale, TooLarge, Refused; StoreUnavailable when the store
    does not take it now: send it again later.
    """

    def refuse_unless_held(job: Job) -> None:
        if not is_held(job, attempt, worker) or job.state not in KEEPING:
            raise Stale(why_stale(job, attempt, worker))

    return _store(find_job(job_id), name, content, refuse_unless_held)


def store_imported_artifact(*, job: Job, name: str, content: bytes) -> str:
    """Keep a file that lay beside an imported result; return its SHA-256. No worker holds the job.

    Imported twice, it is kept once. Raises TooLarge, Refused, StoreUnavailable.
    """
    return _store(job, name, content, lambda _: None)


def _store(job: Job, name: str, content: bytes, check: Check) -> str:
    """Keep a file of a job that passes `check`, now and when its row is written."""
    if not NAME.fullmatch(name):
        raise Refused(
            f"{name!r} is not an artifact name: 1 to 100 of A-Z a-z 0-9 _ . -, and not . or - first"
        )
    if len(content) > settings.ARTIFACT_LIMIT_BYTES:
        raise TooLarge(
            f"{name} is larger than {settings.ARTIFACT_LIMIT_BYTES // 2**20} MiB, the limit"
        )
    check(job)
    digest = hashlib.sha256(content).hexdigest()
    if not job.artifacts.filter(name=name, digest=digest).exists():
        artifact = Artifact(job=job, name=name, size_bytes=len(content), digest=digest)
        _store_file(artifact, content)
        _store_row(artifact, check)
    return digest


def _store_file(artifact: Artifact, content: bytes) -> None:
    """Write the bytes, outside of any transaction: a store may be far away."""
    try:
        artifact.file.save(f"{artifact.job_id}-{artifact.name}", ContentFile(content), save=False)
    except OSError as error:
        logger.warning(
            "artifact not stored", job=str(artifact.job_id), file=artifact.name, error=str(error)
        )
        why = str(error).rstrip(".")
        raise StoreUnavailable(
            f"{artifact.name} cannot be stored now: {why}. Send it again later."
        ) from error


def _store_row(artifact: Artifact, check: Check) -> None:
    """Write the row of a stored file, in place of an earlier one's.

    The file that nobody needs is deleted: the earlier one, or this one where it is refused or came
    twice.
    """
    storage = artifact.file.storage
    try:
        with transaction.atomic():
            job = Job.objects.select_for_update().get(pk=artifact.job_id)
            check(job)
            superfluous = _replace_row(job, artifact)
    except (Stale, Refused):
        storage.delete(str(artifact.file.name))
        raise
    if superfluous:
        storage.delete(superfluous)


def _replace_row(job: Job, artifact: Artifact) -> str:
    """Save the row; the stored name of the file that nobody needs then, if any."""
    others = job.artifacts.exclude(name=artifact.name).count()
    if others >= settings.ARTIFACTS_PER_JOB:
        raise Refused(f"{artifact.name}: job {job.pk} has {others} artifacts already, the limit")
    earlier = job.artifacts.filter(name=artifact.name).first()
    if earlier is not None and earlier.digest == artifact.digest:
        return str(artifact.file.name)
    if earlier is not None:
        earlier.delete()
    artifact.save()
    return str(earlier.file.name) if earlier else ""
