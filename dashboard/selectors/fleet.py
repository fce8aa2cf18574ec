"""Who measures: workers with what they do, and what waits for them."""

import zlib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Q, QuerySet

from dashboard.models import InstalledEnvironment, Job, JobState, Machine, ModelRepository, Schedule, Track, Worker
from dashboard.selectors.runs import ALIVE, WAITING


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, whether it was heard of lately and has a job in its hands, and which (where that was asked for)."""

    worker: Worker
    alive: bool
    is_measuring: bool
    job: Job | None = None

    @property
    def state(self) -> str:
        if not self.alive:
            return "silent"
        if self.worker.paused:
            return "paused"
        return "measuring" if self.is_measuring else "idle"


@dataclass(slots=True)
class MachineRow:
    """A machine, its workers, and how many jobs wait in its queue."""

    machine: Machine
    waiting: int
    workers: list[WorkerRow] = field(default_factory=list)

    @property
    def alive(self) -> int:
        return sum(row.alive for row in self.workers)


def machines(now: datetime, *, with_jobs: bool = False) -> list[MachineRow]:
    """Every machine with its workers and, if wanted, their jobs. Three or four queries."""
    busy = Job.objects.filter(state__in=[*WAITING, JobState.RUNNING]).order_by()
    counted = list(busy.values_list("run__machine", "state", "worker").annotate(Count("pk")))
    waiting: Counter[int] = Counter()
    for machine, state, _, count in counted:
        waiting[machine] += count if state in WAITING else 0
    measuring = {worker for _, state, worker, _ in counted if state == JobState.RUNNING}
    jobs = _jobs_in_hand() if with_jobs else {}
    rows = {machine.pk: MachineRow(machine, waiting[machine.pk]) for machine in Machine.objects.all()}
    for worker in Worker.objects.all():
        alive = worker.last_seen is not None and now - worker.last_seen <= ALIVE
        rows[worker.machine_id].workers.append(WorkerRow(worker, alive, worker.pk in measuring, jobs.get(worker.pk)))
    return list(rows.values())


def _jobs_in_hand() -> dict[int | None, Job]:
    found = Job.objects.filter(state=JobState.RUNNING).select_related("benchmark", "config")
    return {job.worker_id: job for job in found.defer("spec", "log_tail")}


def tracks() -> list[Track]:
    """Every track with the build where it stands. One query."""
    return list(Track.objects.select_related("build"))


def environments() -> QuerySet[InstalledEnvironment]:
    """What is installed on the workers, the adopted interpreters first; evicted ones are left out. One query."""
    there = InstalledEnvironment.objects.exclude(state=InstalledEnvironment.State.EVICTED)
    return there.select_related("build", "worker").order_by("worker__name", "-adopted", "build__version", "key")


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A file or package of own models, as a worker told of it. key: another one for another problem."""

    source: str
    worker: str
    benchmarks: int
    problem: str
    key: str


def sources(machines: Iterable[MachineRow]) -> list[SourceRow]:
    """Own models that workers of these machines have on their own disks. No query."""
    return [
        SourceRow(str(one["source"]), row.worker.name, int(one["benchmarks"]), str(one["problem"]),
                  f"{row.worker.pk}-{place}-{zlib.crc32(str(one['problem']).encode())}")
        for machine in machines
        for row in machine.workers
        for place, one in enumerate(row.worker.facts.get("sources", []))
    ]  # fmt: skip


def repositories() -> QuerySet[ModelRepository]:
    """Git repositories of own models, with how many benchmarks each offers. One query."""
    return ModelRepository.objects.annotate(offered=Count("benchmarks", filter=Q(benchmarks__retired=False)))


def schedules() -> QuerySet[Schedule]:
    """Schedules that are switched on. One query, when they are shown."""
    return Schedule.objects.filter(enabled=True).select_related("crontab", "track", "machine")
