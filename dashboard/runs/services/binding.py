"""Binds each case that is measured in turn to one worker, where several share a machine.

Two devices of one kind differ, so the sides of a case are compared within a device. All jobs of a
case in one session therefore wait for the same living worker
(`Job.bound_to`): their messages go to that worker's own queue, and no other worker may claim them.
When it falls silent, is paused or has a full disk, the jobs that still wait are released and bound
again together.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Sequence
from uuid import UUID

from django.db import transaction
from django.db.models import Count, Q
from django.db.models.functions import Coalesce
from django.utils import timezone

from dashboard.models import Job, Machine, Run, Worker
from dashboard.runs.selectors.runs import ACTIVE_RUNS, ALIVE, TAKES_JOBS, WAITING

IN_TURN = ~Q(session="")  # of runs
CASE = ("run__session", "benchmark", "config")
Case = tuple[str, int, int]  # the values of CASE


def bind_cases(*, machine_id: int) -> None:
    """Release what is bound to workers that take no jobs now, and bind what is not bound.

    With one living worker nothing is bound: all is measured on its device anyway.
    """
    workers = Worker.objects.filter(machine=machine_id)
    if workers.count() < 2:
        return
    with transaction.atomic():
        # One at a time: two at once could bind the sides of a case to different workers
        Machine.objects.select_for_update(no_key=True).get(pk=machine_id)
        living = workers.filter(TAKES_JOBS, last_seen__gt=timezone.now() - ALIVE)
        has_own_queue = dict(living.values_list("pk", "facts__own_queue"))
        # A worker that is older than own queues reads the machine's alone
        hosts = sorted(worker for worker, has_queue in has_own_queue.items() if has_queue)
        others = workers.exclude(pk__in=hosts)
        bound_to_others = Job.objects.filter(state__in=WAITING, bound_to__in=others)
        bound_to_others.update(bound_to=None, dispatched_at=None)
        if hosts and len(has_own_queue) > 1:
            _bind(_unbound_cases(machine_id), hosts)


def _unbound_cases(machine_id: int) -> dict[Case, list[UUID]]:
    """The waiting jobs of each case that are not bound, config by config.

    Bound in this order, each worker gets its share of every config: some take much longer.
    """
    # Read apart: the planner would look at every job that waits for the machine
    in_turn = Run.objects.filter(IN_TURN, machine=machine_id, state__in=ACTIVE_RUNS)
    runs = list(in_turn.values_list("pk", flat=True))
    waiting = Job.objects.filter(run__in=runs, state__in=WAITING, bound_to=None)
    in_order = waiting.order_by("config_id", "turn", "planned_at")
    cases: defaultdict[Case, list[UUID]] = defaultdict(list)
    for job, session, benchmark, config in in_order.values_list("pk", *CASE):
        cases[session, benchmark, config].append(job)
    return cases


def _bind(cases: dict[Case, list[UUID]], hosts: Sequence[int]) -> None:
    """Bind each case where it was measured before, else to the worker that fewest jobs wait for."""
    if not cases:
        return
    previous = _previous_hosts(cases, hosts)
    bound = Job.objects.filter(state__in=WAITING, bound_to__in=hosts).order_by()
    load = Counter(dict(bound.values_list("bound_to").annotate(Count("pk"))))
    jobs_of: defaultdict[int, list[UUID]] = defaultdict(list)
    for case, jobs in cases.items():
        host = previous.get(case) or min(hosts, key=load.__getitem__)
        load[host] += len(jobs)
        jobs_of[host] += jobs
    for host, jobs in jobs_of.items():
        # Not dispatched: a message that is out lies in another queue
        waiting = Job.objects.filter(pk__in=jobs, state__in=WAITING)
        waiting.update(bound_to=host, dispatched_at=None)


def _previous_hosts(cases: Collection[Case], hosts: Sequence[int]) -> dict[Case, int]:
    """Find which of these workers has each case's newest job that was measured, or is bound."""
    sessions = {session for session, *_ in cases}
    jobs = Job.objects.filter(run__session__in=sessions)
    jobs = jobs.annotate(host=Coalesce("worker", "bound_to"))
    rows = jobs.filter(host__in=hosts).order_by("position").values_list(*CASE, "host")
    previous: dict[Case, int] = {}
    for session, benchmark, config, host in rows:
        previous[session, benchmark, config] = host
    return previous
