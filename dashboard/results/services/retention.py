"""Deletes what is kept for a time only: raw samples and artifacts. Results and data stay.

Both are by far the most of what a job leaves, and only the job's own page and comparisons of code
need them.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import OuterRef, Subquery

from dashboard.models import Alert, Artifact, Datum, Purpose, Samples
from dashboard.results.core.code_diff import ARCHIVE

BATCH = 1000  # rows in one transaction: nobody waits for a lock of minutes

logger = structlog.get_logger(__name__)


class DeletedCounts(NamedTuple):
    """How many rows have gone."""

    samples: int
    artifacts: int


def delete_expired(*, now: datetime) -> DeletedCounts:
    """Delete raw samples and artifacts beyond KEEP_SAMPLES_DAYS and KEEP_ARTIFACTS_DAYS; 0 days
    keep for ever.

    What the jobs on either side of an alert's change left stays: its page shows their code and
    leads to their samples.
    """
    kept = _told()
    gone = DeletedCounts(
        _samples(_oldest(now, settings.KEEP_SAMPLES_DAYS), kept),
        _artifacts(_oldest(now, settings.KEEP_ARTIFACTS_DAYS), kept),
    )
    if any(gone):
        logger.info("old rows deleted", samples=gone.samples, artifacts=gone.artifacts)
    return gone


def _oldest(now: datetime, days: int) -> datetime | None:
    return now - timedelta(days=days) if days else None


def _told() -> set[UUID]:
    """The jobs that alerts point at: where the new level begins, and the nearest on either side
    that left code.
    """
    with_code = (
        Datum.objects.filter(series=OuterRef("series"), job__artifacts__name=ARCHIVE)
        .exclude(purpose__in=(Purpose.CONFIRMATION, Purpose.BISECTION))
        .values("job")
    )
    before = with_code.filter(planned_at__lt=OuterRef("planned_at")).order_by("-planned_at")[:1]
    after = with_code.filter(planned_at__gte=OuterRef("planned_at")).order_by("planned_at")[:1]
    found = Alert.objects.values_list("job", Subquery(before), Subquery(after))
    return {job for jobs in found for job in jobs if job}


def _samples(before: datetime | None, kept: Collection[UUID]) -> int:
    gone = 0
    old = Samples.objects.exclude(job__in=kept)
    while before and (
        ids := old.filter(planned_at__lt=before).values_list("pk", flat=True)[:BATCH]
    ):
        gone += Samples.objects.filter(pk__in=list(ids)).delete()[0]
    return gone


def _artifacts(before: datetime | None, kept: Collection[UUID]) -> int:
    gone = 0
    while before:
        old = list(
            Artifact.objects.filter(created_at__lt=before)
            .exclude(job__in=kept)
            .order_by("created_at")[:BATCH]
        )
        removed = _remove_files(old)
        Artifact.objects.filter(pk__in=removed).delete()
        gone += len(removed)
        if not old or len(removed) < len(old):
            break
    return gone


def _remove_files(artifacts: Iterable[Artifact]) -> list[int]:
    """Remove the files until the store refuses one; the ids of those that are gone.

    The files before their rows: what a failure or a kill leaves is found again the next night,
    while a file without a row would stay for ever.
    """
    removed = []
    for one in artifacts:
        try:
            one.file.storage.delete(str(one.file.name))
        except OSError as error:
            logger.warning("old artifacts stay until the next night", error=str(error))
            break
        removed.append(one.pk)
    return removed
