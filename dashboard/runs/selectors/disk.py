"""How much disk the site and its workers take, and what is left."""

import shutil
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db import connection

from dashboard.models import InstalledEnvironment, Worker
from dashboard.runs.selectors.fleet import MachineRow

_TAKEN = """
    SELECT pg_database_size(current_database()), coalesce(sum(size_bytes), 0)::bigint FROM dashboard_artifact
"""


@dataclass(frozen=True, slots=True)
class WorkerDisk:
    """Of one worker, GB: what its environments take and may take, and what was free when it said
    hello.
    """

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
    """Of the site, bytes; free and total: of the disk that the artifacts lie on, None where they
    lie in S3.
    """

    database: int
    artifacts: int
    free: int | None = None
    total: int | None = None


def workers(
    machines: Iterable[MachineRow], environments: Iterable[InstalledEnvironment]
) -> list[WorkerDisk]:
    """Every worker of these machines. No query."""
    taken: Counter[int] = Counter()
    for environment in environments:
        taken[environment.worker_id] += environment.size_mb or 0
    return [
        _of(row.worker, taken[row.worker.pk] / 1000)
        for machine in machines
        for row in machine.workers
    ]


def _of(worker: Worker, environments_gb: float) -> WorkerDisk:
    told = (worker.facts.get(key) for key in ("environments_gb", "disk_free_gb", "disk_gb"))
    return WorkerDisk(worker, environments_gb, *told)


def of_site() -> SiteDisk:
    """The database, the artifacts, and the disk that the artifacts lie on. One query."""
    with connection.cursor() as cursor:
        cursor.execute(_TAKEN)
        database, artifacts = cursor.fetchone()
    if settings.ARTIFACT_STORE:
        return SiteDisk(database, artifacts)
    root = Path(settings.MEDIA_ROOT)
    usage = shutil.disk_usage(next(each for each in (root, *root.parents) if each.exists()))
    return SiteDisk(database, artifacts, usage.free, usage.total)
