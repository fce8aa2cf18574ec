"""Workers, with what they do, and what waits for them."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject

from dashboard.models import (
    InstalledEnvironment,
    Job,
    JobState,
    Machine,
    ModelRepository,
    Track,
    Worker,
)
from dashboard.runs.selectors.runs import ALIVE, WAITING


@dataclass(frozen=True, slots=True)
class CurrentJob:
    """The job that a worker is running."""

    uuid: str
    benchmark: str
    config: str
    phase: str


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, whether it was heard of lately, and the job that it is running."""

    worker: Worker
    alive: bool
    job: CurrentJob | None

    @property
    def state(self) -> str:
        """A word of templatetags' signs."""
        if not self.alive:
            return "silent"
        if self.worker.paused:
            return "paused"
        if self.worker.obstacle:
            return "blocked"
        return "measuring" if self.job else "idle"


@dataclass(slots=True)
class MachineRow:
    """A machine, its workers, and how many jobs wait in its queue."""

    machine: Machine
    waiting: int
    workers: list[WorkerRow] = field(default_factory=list)

    @property
    def alive(self) -> int:
        return sum(row.alive for row in self.workers)


def machines(now: datetime) -> list[MachineRow]:
    """Every machine with its workers and their jobs. Two queries."""
    rows = {machine.pk: MachineRow(machine, machine.waiting) for machine in _with_waiting()}
    for worker in _with_current_job():
        alive = worker.last_seen is not None and now - worker.last_seen <= ALIVE
        job = CurrentJob(**worker.current_job) if worker.current_job else None
        rows[worker.machine_id].workers.append(WorkerRow(worker, alive, job))
    return list(rows.values())


def _with_waiting() -> QuerySet[Any]:
    """Machines, each with the number of its waiting jobs as `waiting`."""
    jobs = Job.objects.filter(state__in=WAITING, run__machine=OuterRef("pk")).order_by()
    count = jobs.values("run__machine").annotate(count=Count("pk")).values("count")
    shown = Machine.objects.exclude(hidden=True, workers=None).distinct()
    return shown.annotate(waiting=Coalesce(Subquery(count), 0))


def _with_current_job() -> QuerySet[Any]:
    """Workers, each with the fields of a CurrentJob as `current_job`, or None."""
    jobs = Job.objects.filter(state=JobState.RUNNING, worker=OuterRef("pk")).order_by()
    fields = JSONObject(
        uuid="uuid", benchmark="benchmark__name", config="config__name", phase="phase"
    )
    return Worker.objects.annotate(current_job=Subquery(jobs.values(fields=fields)[:1]))


def tracks() -> list[Track]:
    """Every track that is not hidden with the build where it stands. One query."""
    return list(Track.objects.filter(hidden=False).select_related("build"))


def environments() -> QuerySet[InstalledEnvironment]:
    """List what is installed on the workers, the adopted interpreters first. One query."""
    present = InstalledEnvironment.objects.exclude(state=InstalledEnvironment.State.EVICTED)
    in_order = present.order_by("worker__name", "-adopted", "build__version", "key")
    return in_order.select_related("build", "worker")


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A file or package of own models, as a worker reported it.

    key: differs for another problem.
    """

    source: str
    worker: str
    benchmarks: int
    problem: str
    key: str


def sources(machines: Iterable[MachineRow]) -> list[SourceRow]:
    """Own models that workers of these machines have on their own disks. No query."""
    rows = []
    for machine in machines:
        for worker in (row.worker for row in machine.workers):
            for index, source in enumerate(worker.facts.get("sources", [])):
                problem = str(source["problem"])
                rows.append(
                    SourceRow(
                        source=str(source["source"]),
                        worker=worker.name,
                        benchmarks=int(source["benchmarks"]),
                        problem=problem,
                        key=f"{worker.pk}-{index}-{zlib.crc32(problem.encode())}",
                    )
                )
    return rows


def repositories() -> QuerySet[ModelRepository]:
    """Git repositories of own models, with how many benchmarks each offers. One query."""
    return ModelRepository.objects.annotate(
        offered=Count("benchmarks", filter=Q(benchmarks__retired=False))
    )
