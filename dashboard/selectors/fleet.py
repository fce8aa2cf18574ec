"""Who measures: workers with what they do, and what waits for them."""

from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, F

from dashboard.models import Job, JobState, Machine, Schedule, Track, Worker
from dashboard.selectors.runs import ALIVE, WAITING


@dataclass(frozen=True, slots=True)
class WorkerRow:
    """A worker, the job in its hands, and whether it was heard of lately."""

    worker: Worker
    job: Job | None
    alive: bool

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
    """Every machine with its workers. Four queries."""
    waiting = dict(
        Job.objects.filter(state__in=WAITING).order_by().annotate(machine=F("run__machine")).values_list("machine").annotate(Count("pk"))
    )
    running = {
        job.worker_id: job
        for job in Job.objects.filter(state=JobState.RUNNING).select_related("benchmark", "config").defer("spec", "log_tail")
    }
    rows = {machine.pk: MachineRow(machine, waiting.get(machine.pk, 0)) for machine in Machine.objects.all()}
    for worker in Worker.objects.all():
        alive = worker.last_seen is not None and now - worker.last_seen <= ALIVE
        rows[worker.machine_id].workers.append(WorkerRow(worker, running.get(worker.pk), alive))
    return list(rows.values())


def tracks() -> list[Track]:
    """Every track with the build where it stands. One query."""
    return list(Track.objects.select_related("build"))


def schedules() -> list[Schedule]:
    """Schedules that are switched on. One query."""
    return list(Schedule.objects.filter(enabled=True).select_related("crontab", "track", "machine"))
