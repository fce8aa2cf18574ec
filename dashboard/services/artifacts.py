"""Files that jobs leave: generated code, traces. The bytes go to Django's storage, a folder unless configured."""

import hashlib
import re
from uuid import UUID

from django.conf import settings
from django.core.files.base import ContentFile
from django.db import transaction

from dashboard.models import Artifact, Job, JobState, Worker
from dashboard.result_format import Refused, TooLarge
from dashboard.services.leases import Stale, find_job, is_held, why_stale

NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,99}")  # a file name, never a path
KEEPING = (JobState.RUNNING, JobState.DONE, JobState.FAILED, JobState.TIMED_OUT)


def store_artifact(*, job_id: UUID, attempt: int, worker: Worker, name: str, content: bytes) -> str:
    """Keep a file of the attempt that counts, before or after its result; its SHA-256. Sent twice, it is kept once.

    Raises Stale, TooLarge, Refused.
    """
    if not NAME.fullmatch(name):
        raise Refused(f"{name!r} is no artifact name: 1 to 100 of A-Z a-z 0-9 _ . -, and not . or - first")
    if len(content) > settings.ARTIFACT_LIMIT_BYTES:
        raise TooLarge(f"{name} is larger than {settings.ARTIFACT_LIMIT_BYTES // 2**20} MiB, the limit")
    find_job(job_id)
    digest = hashlib.sha256(content).hexdigest()
    with transaction.atomic():
        job = Job.objects.select_for_update().get(pk=job_id)
        if not is_held(job, attempt, worker) or job.state not in KEEPING:
            raise Stale(why_stale(job, attempt, worker))
        _replace(job, name, content, digest)
    return digest


def _replace(job: Job, name: str, content: bytes, digest: str) -> None:
    others = job.artifacts.exclude(name=name).count()
    if others >= settings.ARTIFACTS_PER_JOB:
        raise Refused(f"{name}: job {job.pk} has {others} artifacts already, the limit")
    earlier = job.artifacts.filter(name=name).first()
    if earlier is not None and earlier.digest == digest:
        return
    if earlier is not None:
        stored, storage = str(earlier.file.name), earlier.file.storage
        transaction.on_commit(lambda: storage.delete(stored))
        earlier.delete()
    file = ContentFile(content, name=f"{job.pk}-{name}")
    Artifact.objects.create(job=job, name=name, file=file, size_bytes=len(content), digest=digest)
