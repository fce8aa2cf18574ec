"""How much disk the site and its workers take, and what is left."""

import shutil
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection
from django.db.models import Sum

from dashboard.models import Artifact, InstalledEnvironment, Worker


@dataclass(frozen=True, slots=True)
class WorkerDisk:
    """Of one worker, GB: what its environments take and may take, and what was free when it said hello."""

    worker: Worker
    environments_gb: float
    limit_gb: float | None
    free_gb: float | None
    total_gb: float | None

    @property
    def share(self) -> float:
        """Percent of the limit that is taken."""
        return min(100 * self.environments_gb / self.limit_gb, 100) if self.limit_gb else 0.0


@dataclass(frozen=True, slots=True)
class SiteDisk:
    """Of the site, bytes."""

    database: int
    artifacts: int
    free: int
    total: int


def workers() -> list[WorkerDisk]:
    """Every worker. Two queries."""
    made = InstalledEnvironment.objects.exclude(state=InstalledEnvironment.State.EVICTED)
    taken = dict(made.order_by().values_list("worker").annotate(Sum("size_mb")))
    return [_of(worker, (taken.get(worker.pk) or 0) / 1000) for worker in Worker.objects.all()]


def _of(worker: Worker, environments_gb: float) -> WorkerDisk:
    told = (worker.facts.get(key) for key in ("environments_gb", "disk_free_gb", "disk_gb"))
    return WorkerDisk(worker, environments_gb, *told)


def of_site() -> SiteDisk:
    """The database, the artifacts, and the disk that the artifacts lie on. Two queries."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_database_size(current_database())")
        (database,) = cursor.fetchone()
    artifacts = Artifact.objects.aggregate(total=Sum("size_bytes"))["total"] or 0
    root = Path(settings.MEDIA_ROOT)
    usage = shutil.disk_usage(next(each for each in (root, *root.parents) if each.exists()))
    return SiteDisk(database, artifacts, usage.free, usage.total)
