"""Who measures: workers with what they do, and what waits for them."""

import zlib
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce, JSONObject

from dashboard.models import (
    InstalledEnvironment,
    Job,
    JobState,
    Machine,
    ModelRepository,
    Schedule,
    Track,
    Worker,
)
from dashboard.runs.selectors.runs import ALIVE, WAITING


@dataclass(frozen=True, slots=True)
class Held:
    """A job that a worker has in its hands."""

    uuid: str
    benchmark: str
    config: str
    phase: str


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, whether it was heard of lately, and the job that it has in its hands."""

    worker: Worker
    alive: bool
    job: Held | None

    @property
    def state(self) -> str:
        if not self.alive:
            return "silent"
        if self.worker.paused:
            return "paused"
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
    waiting = Job.objects.filter(state__in=WAITING, run__machine=OuterRef("pk")).order_by()
    counted = waiting.values("run__machine").annotate(count=Count("pk")).values("count")
    rows = {
        machine.pk: MachineRow(machine, machine.waiting)
        for machine in Machine.objects.annotate(waiting=Coalesce(Subquery(counted), 0))
    }
    held = Job.objects.filter(state=JobState.RUNNING, worker=OuterRef("pk")).order_by()
    fields = JSONObject(
        uuid="uuid", benchmark="benchmark__name", config="config__name", phase="phase"
    )
    for worker in Worker.objects.annotate(held=Subquery(held.values(fields=fields)[:1])):
        alive = worker.last_seen is not None and now - worker.last_seen <= ALIVE
        job = Held(**worker.held) if worker.held else None
        rows[worker.machine_id].workers.append(WorkerRow(worker, alive, job))
    return list(rows.values())


def tracks() -> list[Track]:
    """Every track with the build where it stands. One query."""
    return list(Track.objects.select_related("build"))


def environments() -> QuerySet[InstalledEnvironment]:
    """What is installed on the workers, the adopted interpreters first; evicted ones are left out.
    One query.
    """
    there = InstalledEnvironment.objects.exclude(state=InstalledEnvironment.State.EVICTED)
    return there.select_related("build", "worker").order_by(
        "worker__name", "-adopted", "build__version", "key"
    )


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A file or package of own models, as a worker told of it. key: another one for another
    problem.
    """

    source: str
    worker: str
    benchmarks: int
    problem: str
    key: str


def sources(machines: Iterable[MachineRow]) -> list[SourceRow]:
    """Own models that workers of these machines have on their own disks. No query."""
    return [
        SourceRow(
            str(one["source"]),
            row.worker.name,
            int(one["benchmarks"]),
            str(one["problem"]),
            f"{row.worker.pk}-{place}-{zlib.crc32(str(one['problem']).encode())}",
        )
        for machine in machines
        for row in machine.workers
        for place, one in enumerate(row.worker.facts.get("sources", []))
    ]


def repositories() -> QuerySet[ModelRepository]:
    """Git repositories of own models, with how many benchmarks each offers. One query."""
    return ModelRepository.objects.annotate(
        offered=Count("benchmarks", filter=Q(benchmarks__retired=False))
    )


def schedules() -> QuerySet[Schedule]:
    """Schedules that are switched on. One query, when they are shown."""
    return Schedule.objects.filter(enabled=True).select_related("crontab", "track", "machine")
