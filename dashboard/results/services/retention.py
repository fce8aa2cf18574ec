"""Deletes what is kept for a time only: raw samples, artifacts and refused results.

Results and data stay. Samples and artifacts are by far the most of what a job leaves, and only the
job's own page and comparisons of code need them.
"""

from collections.abc import Collection, Iterable
from datetime import datetime, timedelta
from typing import NamedTuple
from uuid import UUID

import structlog
from django.conf import settings
from django.db.models import OuterRef, Subquery

from dashboard.models import Alert, Artifact, AuditChange, Datum, Purpose, RefusedResult, Samples
from dashboard.results.core.code_diff import ARCHIVE

REFUSED_KEPT = timedelta(days=30)
BATCH = 1000  # rows in one transaction: nobody waits for a lock of minutes

logger = structlog.get_logger(__name__)


class DeletedCounts(NamedTuple):
    """Numbers of deleted rows."""

    samples: int
    artifacts: int


def delete_expired(*, now: datetime) -> DeletedCounts:
    """Delete raw samples and artifacts older than KEEP_SAMPLES_DAYS and KEEP_ARTIFACTS_DAYS.

    And the bodies of refused results after a month, and the audit trail after KEEP_AUDIT_DAYS.

    0 days keep for ever. What the jobs on either side of an alert's change left stays: its page
    shows their code and leads to their samples.
    """
    kept = _jobs_of_alerts()
    RefusedResult.objects.filter(received_at__lt=now - REFUSED_KEPT).delete()
    if audited := _limit(now, settings.KEEP_AUDIT_DAYS):
        AuditChange.objects.filter(at__lt=audited).delete()
    deleted = DeletedCounts(
        _delete_samples(_limit(now, settings.KEEP_SAMPLES_DAYS), kept),
        _delete_artifacts(_limit(now, settings.KEEP_ARTIFACTS_DAYS), kept),
    )
    if any(deleted):
        logger.info("old rows deleted", samples=deleted.samples, artifacts=deleted.artifacts)
    return deleted


def _limit(now: datetime, days: int) -> datetime | None:
    return now - timedelta(days=days) if days else None


def _jobs_of_alerts() -> set[UUID]:
    """The jobs that alerts point at.

    For each alert the job where the new level begins, and the nearest on either side that left
    code.
    """
    with_code = (
        Datum.objects.filter(series=OuterRef("series"), job__artifacts__name=ARCHIVE)
        .exclude(purpose__in=(Purpose.CONFIRMATION, Purpose.BISECTION))
        .values("job")
    )
    before = with_code.filter(planned_at__lt=OuterRef("planned_at")).order_by("-planned_at")[:1]
    after = with_code.filter(planned_at__gte=OuterRef("planned_at")).order_by("planned_at")[:1]
    jobs: set[UUID] = set()
    for of_alert in Alert.objects.values_list("job", Subquery(before), Subquery(after)):
        jobs.update(job for job in of_alert if job)
    return jobs


def _delete_samples(before: datetime | None, kept: Collection[UUID]) -> int:
    if before is None:
        return 0
    deleted = 0
    old = Samples.objects.exclude(job__in=kept).filter(planned_at__lt=before)
    while ids := list(old.values_list("pk", flat=True)[:BATCH]):
        deleted += Samples.objects.filter(pk__in=ids).delete()[0]
    return deleted


def _delete_artifacts(before: datetime | None, kept: Collection[UUID]) -> int:
    if before is None:
        return 0
    deleted = 0
    old = Artifact.objects.exclude(job__in=kept).filter(created_at__lt=before)
    while batch := list(old.order_by("created_at")[:BATCH]):
        removed = remove_files(batch)
        Artifact.objects.filter(pk__in=removed).delete()
        deleted += len(removed)
        if len(removed) < len(batch):
            break
    return deleted


def remove_files(artifacts: Iterable[Artifact]) -> list[int]:
    """Remove the files until the store refuses one; the ids of those that were removed.

    The files before their rows: what a failure or a kill leaves is found again the next night,
    while a file without a row would stay for ever.
    """
    removed = []
    for artifact in artifacts:
        try:
            artifact.file.storage.delete(str(artifact.file.name))
        except OSError as error:
            logger.warning("old artifacts stay until the next night", error=str(error))
            break
        removed.append(artifact.pk)
    return removed
