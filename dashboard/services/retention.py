"""Deletes what is kept for a time only: raw samples and artifacts. Results and data stay.

Both are by far the most of what a job leaves, and only the job's own page and comparisons of code need them.
"""

from datetime import datetime, timedelta
from typing import NamedTuple

import structlog
from django.conf import settings
from django.core.files.storage import Storage
from django.db import transaction

from dashboard.models import Alert, Artifact, Samples

BATCH = 1000  # rows in one transaction: nobody waits for a lock of minutes

logger = structlog.get_logger(__name__)


class Forgotten(NamedTuple):
    """How many rows have gone."""

    samples: int
    artifacts: int


def forget_old(*, now: datetime) -> Forgotten:
    """Delete raw samples and artifacts beyond KEEP_SAMPLES_DAYS and KEEP_ARTIFACTS_DAYS; 0 days keep for ever.

    Artifacts of the jobs that alerts name stay: the alert's page shows the code that they wrote.
    """
    gone = Forgotten(
        _samples(_oldest(now, settings.KEEP_SAMPLES_DAYS)), _artifacts(_oldest(now, settings.KEEP_ARTIFACTS_DAYS))
    )
    if any(gone):
        logger.info("old rows deleted", samples=gone.samples, artifacts=gone.artifacts)
    return gone


def _oldest(now: datetime, days: int) -> datetime | None:
    return now - timedelta(days=days) if days else None


def _samples(before: datetime | None) -> int:
    gone = 0
    while before and (ids := Samples.objects.filter(planned_at__lt=before).values_list("pk", flat=True)[:BATCH]):
        gone += Samples.objects.filter(pk__in=list(ids)).delete()[0]
    return gone


def _artifacts(before: datetime | None) -> int:
    gone, told = 0, Alert.objects.exclude(job=None).values("job")
    while before:
        old = list(Artifact.objects.filter(created_at__lt=before).exclude(job__in=told)[:BATCH])
        if not old:
            break
        files: list[tuple[Storage, str]] = [(one.file.storage, str(one.file.name)) for one in old]
        with transaction.atomic():
            Artifact.objects.filter(pk__in=[one.pk for one in old]).delete()
        for storage, name in files:  # a file that outlives its row does no harm, a row without a file would
            storage.delete(name)
        gone += len(old)
    return gone
