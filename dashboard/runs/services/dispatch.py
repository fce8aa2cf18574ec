"""Sends the messages that make workers ask for jobs. A message carries a job's id and attempt,
nothing else.

The broker holds a few messages for each machine, as many as its workers take next. All other jobs
wait in the database, and each claim has the next message sent: so who comes next is decided late,
by purpose (`PRIORITIES`) and then by `turn`. What is triggered begins at the turn that is due
(`assign_queue_order`), so that all that waits is taken in turn.

`dispatched_at` is NULL for a job whose attempt has no message out. Losing, repeating or reordering
    messages does no
harm: the claim decides (services/leases.py), and what was not or is no longer out is sent by the
    reaper.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Count, Max, Min, Q
from django.utils import timezone
from kombu.exceptions import OperationalError

from dashboard.celery import app
from dashboard.models import Job, JobState, Purpose, Run, Worker
from dashboard.runs.selectors.runs import ACTIVE_RUNS
from dashboard.runs.services.run_state import WAITING, refresh_runs

TASK = "runner.run_job"
# 0 goes first: an alert waits for its confirmation, then a person for a number; the schedule can
# wait
PRIORITIES = {
    Purpose.CONFIRMATION: 0,
    Purpose.MANUAL: 1,
    Purpose.BISECTION: 2,
    Purpose.SCHEDULED: 3,
}
LOWEST_PRIORITY = 4
LAST = 9
# Messages beyond one for each living worker: the next is there before the claim has had it sent
SPARE = 2
FORGOTTEN_AFTER = timedelta(seconds=60)  # while a worker that could work does not
WORKER_IS_ALIVE = timedelta(seconds=60)

logger = structlog.get_logger(__name__)


def assign_queue_order(jobs: Sequence[Job]) -> Sequence[Job]:
    """Give jobs of one machine and purpose that are triggered together their turns, in this order,
    without saving.

    The first gets the turn that is due: the highest that has a message out, or else the lowest that
    waits. So it waits for one more job of everything that came before it, and those for one of its
    own.
    """
    for turn, job in enumerate(jobs, start=_turn_due(jobs[0].run) if jobs else 0):
        job.turn = turn
    return jobs


def _turn_due(run: Run) -> int:
    waiting = Job.objects.filter(
        state__in=WAITING, run__machine=run.machine_id, run__purpose=run.purpose
    )
    turns = waiting.aggregate(
        out=Max("turn", filter=Q(dispatched_at__isnull=False)), first=Min("turn")
    )
    return turns["out"] or turns["first"] or 0


def dispatch(*, machine_id: int | None = None) -> int:
    """Send the messages that are due on one machine, or on all of them; how many were sent.

    With the broker down the jobs wait, and the reaper tries again in seconds. Never raises for
    that.
    """
    waited_for = (
        Run.objects.filter(state__in=ACTIVE_RUNS)
        .order_by()
        .values_list("machine_id", flat=True)
        .distinct()
    )
    jobs = _take([*waited_for] if machine_id is None else [machine_id])
    sent = _send_all(jobs)
    if sent < len(jobs):
        Job.objects.filter(pk__in=[job.pk for job in jobs[sent:]], state=JobState.QUEUED).update(
            dispatched_at=None
        )
    return sent


def _take(machine_ids: Sequence[int]) -> list[Job]:
    """Mark jobs as dispatched before their messages go: a worker may ask for one within a
    millisecond.
    """
    with transaction.atomic():
        _queue_planned(machine_ids)
        jobs = [job for machine_id in machine_ids for job in _next_jobs(machine_id)]
        Job.objects.filter(pk__in=[job.pk for job in jobs]).update(dispatched_at=timezone.now())
    return jobs


def _queue_planned(machine_ids: Sequence[int]) -> None:
    planned = Job.objects.filter(state=JobState.PLANNED, run__machine__in=machine_ids)
    locked = dict(
        planned.select_for_update(skip_locked=True, of=("self",)).values_list("pk", "run_id")
    )
    if locked:
        Job.objects.filter(pk__in=locked).update(state=JobState.QUEUED)
        refresh_runs(run_ids=locked.values())


def _next_jobs(machine_id: int) -> list[Job]:
    """The queued jobs for which the broker has room, locked. What is less urgent takes no room from
    what is more.
    """
    runs: defaultdict[str, list[int]] = defaultdict(list)
    for purpose, run_id in Run.objects.filter(
        state__in=ACTIVE_RUNS, machine=machine_id
    ).values_list("purpose", "pk"):
        runs[purpose].append(run_id)
    out, room, jobs = _count_out(machine_id), _room(machine_id), list[Job]()
    for purpose in sorted(runs, key=_urgency):
        room -= out.get(purpose, 0)
        if room <= 0:
            break
        due = _due(runs[purpose], room)
        room -= len(due)
        jobs += due
    return jobs


def _due(run_ids: Sequence[int], count: int) -> list[Job]:
    due = Job.objects.filter(run__in=run_ids, state=JobState.QUEUED, dispatched_at=None)
    ordered = due.order_by("turn", "planned_at", "run_id", "position").select_related(
        "run__machine"
    )
    return list(
        ordered.select_for_update(skip_locked=True, of=("self",)).defer("spec", "log_tail")[:count]
    )


def _room(machine_id: int) -> int:
    """How many messages the broker holds of a machine: fewer, and a worker waits; more, and who
    comes later does.
    """
    alive = Worker.objects.filter(
        machine=machine_id, last_seen__gt=timezone.now() - WORKER_IS_ALIVE
    )
    return alive.count() + SPARE


def _count_out(machine_id: int) -> dict[str, int]:
    """How many messages of each purpose are out."""
    out = Job.objects.filter(
        run__machine=machine_id, state=JobState.QUEUED, dispatched_at__isnull=False
    )
    return dict(out.order_by().values_list("run__purpose").annotate(Count("pk")))


def _send_all(jobs: Sequence[Job]) -> int:
    """Send until the broker refuses; how many it took."""
    for sent, job in enumerate(jobs):
        try:
            send(job)
        except (OperationalError, OSError) as error:
            logger.warning(
                "broker unreachable, jobs wait for it", waiting=len(jobs) - sent, error=str(error)
            )
            return sent
    return len(jobs)


def send(job: Job) -> None:
    """Send one job's message to its machine's queue. Raises OperationalError when the broker cannot
    be reached.
    """
    app.send_task(
        TASK,
        args=[str(job.pk), job.attempt],
        queue=job.run.machine.queue,
        priority=priority(job),
    )


def priority(job: Job) -> int:
    """0 to 9, in the order in which Redis serves them; RabbitMQ serves the highest first."""
    place = _urgency(job.run.purpose)
    return place if app.conf.broker_url.startswith("redis") else LAST - place


def _urgency(purpose: str) -> int:
    return PRIORITIES.get(Purpose(purpose), LOWEST_PRIORITY)


def reset_lost_dispatches() -> int:
    """Mark the jobs whose messages seem lost as not dispatched; how many.

    A message counts as lost when it has been out for a minute, in which a living worker of its
    machine that is not paused did nothing.
    """
    since = timezone.now() - FORGOTTEN_AFTER
    busy = Job.objects.filter(
        Q(state=JobState.RUNNING) | Q(finished_at__gt=since), worker__isnull=False
    )
    idle = Worker.objects.filter(paused=False, last_seen__gt=timezone.now() - WORKER_IS_ALIVE)
    machines = idle.exclude(pk__in=busy.values("worker")).values("machine")
    forgotten = Job.objects.filter(
        run__machine__in=machines, state=JobState.QUEUED, dispatched_at__lt=since
    )
    ids = list(forgotten.values_list("pk", flat=True))
    return Job.objects.filter(pk__in=ids, state=JobState.QUEUED).update(dispatched_at=None)
