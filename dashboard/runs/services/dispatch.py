"""Sends the messages that make workers ask for jobs.

A message carries a job's id and attempt, nothing else.

The broker holds a few messages for each machine, as many as its workers take next, and one for each
worker that jobs are bound to (services/binding.py), in a queue of its own. All other jobs wait in
the database, and each claim has the next message sent: so who comes next is decided late,
by purpose (`PRIORITIES`) and then by `turn`. What is triggered begins at the turn that is due
(`assign_queue_order`), so that all that waits is taken in turn.

`dispatched_at` is NULL for a job whose attempt has no message out. Losing, repeating or reordering
messages does no harm: the claim decides (services/leases.py), and the reaper sends what was not
sent, or was lost.
"""

from collections import Counter, defaultdict
from collections.abc import Sequence
from datetime import timedelta

import structlog
from django.db import transaction
from django.db.models import Count, Max, Min, Q, QuerySet
from django.utils import timezone
from kombu.exceptions import OperationalError

from dashboard.celery import app
from dashboard.models import Job, JobState, Purpose, Run, Worker
from dashboard.runs.selectors.runs import ACTIVE_RUNS, ALIVE, TAKES_JOBS, WAITING
from dashboard.runs.services.binding import bind_cases
from dashboard.runs.services.run_state import refresh_runs

TASK = "runner.run_job"
# 0 goes first: an alert waits for its confirmation, a person for a number; the schedule can wait
PRIORITIES = {
    Purpose.CONFIRMATION: 0,
    Purpose.MANUAL: 1,
    Purpose.BISECTION: 2,
    Purpose.SCHEDULED: 3,
}
LOWEST_PRIORITY = 4  # what is imported, which is never sent; and the evidence for a report
LAST_PRIORITY = 9
# Messages beyond one for each living worker: the next is there before the claim has had it sent
SPARE = 2
IN_ORDER = ("turn", "planned_at", "run_id", "position")
# What a message takes of a job: to whom it goes, how urgent it is, what it says
MESSAGE_COLUMNS = (
    "attempt",
    "bound_to__name",
    "bound_to__machine__key",
    "run__purpose",
    "run__evidence_of",
    "run__machine__key",
)
LOST_AFTER = timedelta(seconds=60)  # while a worker that could work does not

logger = structlog.get_logger(__name__)


def assign_queue_order(jobs: Sequence[Job]) -> Sequence[Job]:
    """Give jobs that are triggered together their turns, in this order, without saving.

    They are of one machine and priority. The first gets the turn that is due: the highest that has
    a message out, or else the lowest that waits. So it waits for one more job of everything that
    came before it, and those for one of its own.
    """
    if not jobs:
        return jobs
    run = jobs[0].run
    waiting = Job.objects.filter(
        state__in=WAITING,
        run__machine=run.machine_id,
        run__purpose=run.purpose,
        run__evidence_of__isnull=run.evidence_of_id is None,
    )
    turns = waiting.aggregate(
        out=Max("turn", filter=Q(dispatched_at__isnull=False)), first=Min("turn")
    )
    for turn, job in enumerate(jobs, start=turns["out"] or turns["first"] or 0):
        job.turn = turn
    return jobs


def dispatch(*, machine_id: int | None = None) -> int:
    """Send the messages that are due on one machine, or on all of them; how many were sent.

    With the broker down the jobs wait, and the reaper tries again in seconds: no error is raised.
    """
    if machine_id is None:
        active_runs = Run.objects.filter(state__in=ACTIVE_RUNS).order_by()
        machine_ids = list(active_runs.values_list("machine_id", flat=True).distinct())
    else:
        machine_ids = [machine_id]
    for each in machine_ids:
        bind_cases(machine_id=each)
    return _send_marked(_mark_dispatched(machine_ids))


def send_next(*, machine_id: int) -> int:
    """After a claim: send the messages that it made room for; how many were sent.

    Less than `dispatch`: what is planned was queued when it was triggered, and is bound.
    """
    with transaction.atomic():
        jobs = _mark_next([machine_id])
    return _send_marked(jobs)


def _send_marked(jobs: Sequence[Job]) -> int:
    """Send their messages, and take the mark from those that the broker did not take."""
    sent = _send_all(jobs)
    if sent < len(jobs):
        unsent = [job.pk for job in jobs[sent:]]
        Job.objects.filter(pk__in=unsent, state=JobState.QUEUED).update(dispatched_at=None)
    return sent


def _mark_dispatched(machine_ids: Sequence[int]) -> list[Job]:
    """The jobs that are due, marked before their messages go: a worker may ask within 1 ms."""
    with transaction.atomic():
        planned = Job.objects.filter(state=JobState.PLANNED, run__machine__in=machine_ids)
        locked = planned.select_for_update(skip_locked=True, of=("self",))
        run_of_job = dict(locked.values_list("pk", "run_id"))
        if run_of_job:
            Job.objects.filter(pk__in=run_of_job).update(state=JobState.QUEUED)
            refresh_runs(run_ids=run_of_job.values())
        return _mark_next(machine_ids)


def _mark_next(machine_ids: Sequence[int]) -> list[Job]:
    """The queued jobs whose turn it is, marked, in the caller's transaction."""
    jobs: list[Job] = []
    for machine_id in machine_ids:
        jobs += _next_jobs(machine_id)
        jobs += _next_bound_jobs(machine_id)
    Job.objects.filter(pk__in=[job.pk for job in jobs]).update(dispatched_at=timezone.now())
    return jobs


def _next_jobs(machine_id: int) -> list[Job]:
    """The queued jobs that the machine's queue has room for, the most urgent ones first, locked."""
    active_runs = Run.objects.filter(state__in=ACTIVE_RUNS, machine=machine_id)
    runs: defaultdict[int, list[int]] = defaultdict(list)
    for purpose, evidence_of, run_id in active_runs.values_list("purpose", "evidence_of", "pk"):
        runs[_urgency(purpose, evidence_of)].append(run_id)
    out = Job.objects.filter(
        run__machine=machine_id,
        state=JobState.QUEUED,
        bound_to=None,
        dispatched_at__isnull=False,
    )
    messages_out: Counter[int] = Counter()
    by_kind = out.order_by().values_list("run__purpose", "run__evidence_of").annotate(Count("pk"))
    for purpose, evidence_of, messages in by_kind:
        messages_out[_urgency(purpose, evidence_of)] += messages
    # With fewer messages a worker would wait, with more what is triggered later would
    alive = Worker.objects.filter(machine=machine_id, last_seen__gt=timezone.now() - ALIVE)
    room = alive.count() + SPARE
    jobs: list[Job] = []
    for urgency in sorted(runs):
        room -= messages_out[urgency]
        if room <= 0:
            break
        due = list(_locked(_due().filter(run__in=runs[urgency], bound_to=None))[:room])
        room -= len(due)
        jobs += due
    return jobs


def _next_bound_jobs(machine_id: int) -> list[Job]:
    """Lock the first job of each purpose, and of the evidence of each alert, for each worker that
    jobs are bound to; none where its queue holds such a message.

    What waits for a busy worker so takes no room from the others.
    """
    bound = Job.objects.filter(bound_to__machine=machine_id, state=JobState.QUEUED)
    # NULL comes last: a job that has a message out stands before those that wait for one
    kinds = ("bound_to_id", "run__purpose", "run__evidence_of_id")
    in_order = bound.order_by(*kinds, "dispatched_at", *IN_ORDER)
    first = in_order.distinct(*kinds).values_list("pk", "dispatched_at")
    due = [pk for pk, dispatched_at in first if dispatched_at is None]
    return list(_locked(_due().filter(pk__in=due))) if due else []


def _due() -> QuerySet[Job]:
    return Job.objects.filter(state=JobState.QUEUED, dispatched_at=None).order_by(*IN_ORDER)


def _locked(jobs: QuerySet[Job]) -> QuerySet[Job]:
    locked = jobs.select_for_update(skip_locked=True, of=("self",))
    return locked.select_related("run__machine", "bound_to__machine").only(*MESSAGE_COLUMNS)


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
    """Send one job's message to its machine's queue, or to that of the worker that it is bound to.

    Raises OperationalError: no broker.
    """
    place = job.bound_to or job.run.machine
    app.send_task(
        TASK,
        args=[str(job.pk), job.attempt],
        queue=place.queue,
        priority=priority(job),
    )


def priority(job: Job) -> int:
    """0 to 9, in the order in which Redis serves them; RabbitMQ serves the highest first."""
    urgency = _urgency(job.run.purpose, job.run.evidence_of_id)
    return urgency if app.conf.broker_url.startswith("redis") else LAST_PRIORITY - urgency


def _urgency(purpose: str, evidence_of: int | None) -> int:
    if evidence_of is not None:  # nothing waits for it: the alert is confirmed
        return LOWEST_PRIORITY
    return PRIORITIES.get(Purpose(purpose), LOWEST_PRIORITY)


def reset_lost_dispatches() -> int:
    """Mark the jobs whose messages seem lost as not dispatched; how many.

    A message counts as lost when it has been out for a minute, in which a living worker that could
    have taken it, is not paused and has room on its disk did nothing.
    """
    since = timezone.now() - LOST_AFTER
    busy = Job.objects.filter(
        Q(state=JobState.RUNNING) | Q(finished_at__gt=since), worker__isnull=False
    )
    living = Worker.objects.filter(TAKES_JOBS, last_seen__gt=timezone.now() - ALIVE)
    idle = living.exclude(pk__in=busy.values("worker"))
    machines = idle.values("machine")
    could_be_taken = Q(bound_to=None, run__machine__in=machines) | Q(bound_to__in=idle)
    lost = Job.objects.filter(could_be_taken, state=JobState.QUEUED, dispatched_at__lt=since)
    ids = list(lost.values_list("pk", flat=True))
    return Job.objects.filter(pk__in=ids, state=JobState.QUEUED).update(dispatched_at=None)
