"""Disk that the site and its workers take, and what is left of it."""

import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from dashboard.models import InstalledEnvironment, Worker
from dashboard.runs.selectors.fleet import MachineRow

_SIZES = """
    SELECT pg_database_size(current_database()), coalesce(sum(size_bytes), 0)::bigint
    FROM dashboard_artifact
"""


@dataclass(frozen=True, slots=True)
class WorkerDisk:
    """Disk of one worker, GB: what environments take and may take; what was free at its hello."""

    worker: Worker
    environments_gb: float
    limit_gb: float | None
    free_gb: float | None
    total_gb: float | None

    @property
    def share(self) -> float:
        """Percent of the limit that is taken."""
        if not self.limit_gb:
            return 0.0
        return min(100 * self.environments_gb / self.limit_gb, 100)


@dataclass(frozen=True, slots=True)
class SiteDisk:
    """Disk of the site, bytes. free, total: where the artifacts are; None if they are in S3."""

    database: int
    artifacts: int
    free: int | None = None
    total: int | None = None


def workers(
    machines: Iterable[MachineRow], environments: Iterable[InstalledEnvironment]
) -> list[WorkerDisk]:
    """Every worker of these machines. No query."""
    taken_mb: Counter[int] = Counter()
    for environment in environments:
        taken_mb[environment.worker_id] += environment.size_mb or 0
    rows = []
    for machine in machines:
        for worker in (row.worker for row in machine.workers):
            rows.append(
                WorkerDisk(
                    worker=worker,
                    environments_gb=taken_mb[worker.pk] / 1000,
                    limit_gb=worker.facts.get("environments_gb"),
                    free_gb=worker.facts.get("disk_free_gb"),
                    total_gb=worker.facts.get("disk_gb"),
                )
            )
    return rows


def of_site() -> SiteDisk:
    """The database, the artifacts, and the disk that the artifacts lie on. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_SIZES)
        database, artifacts = cursor.fetchone()
    if settings.ARTIFACT_STORE:
        return SiteDisk(database, artifacts)
    root = Path(settings.MEDIA_ROOT)
    existing = next(folder for folder in (root, *root.parents) if folder.exists())
    usage = shutil.disk_usage(existing)
    return SiteDisk(database, artifacts, usage.free, usage.total)
