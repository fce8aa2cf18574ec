"""Has a suspicion measured again, base and new build in turn; conclusions.py says what came of it.

1. `start_due` takes suspected groups whose runs are over, one at a time on a machine, unless the
   queue is deep, too many were started today, or no worker is there; the reason is kept on the
   Confirmation, and it is tried again.
2. `start` chooses at most three representatives and plans the first pairs, in an order drawn
   beforehand: a run for each build, their jobs in turn.

A build that stayed cannot be compared with itself: what changed there (machine, environment, suite)
is measured again alone, and compared with the recorded level. The verdict says that this is weaker.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from itertools import product

import numpy as np
from django.db import transaction

from dashboard.alerts.core import confirmation as confirming
from dashboard.alerts.core import grouping
from dashboard.alerts.selectors import pairs
from dashboard.alerts.selectors.alerts import OPEN
from dashboard.alerts.selectors.evidence import alerting_series_count, suspicion_of
from dashboard.alerts.services import triage
from dashboard.alerts.services.causes import settle
from dashboard.catalog.core.pins import PinError, newest_set, shared_set
from dashboard.judgement.confirmation import FEWEST
from dashboard.language.wording import plural
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Confirmation,
    Direction,
    EvidenceState,
    Job,
    Kind,
    Machine,
    Purpose,
    Run,
    Severity,
    TorchBuild,
    Track,
    Worker,
)
from dashboard.results.core.level_sql import WARM_UP_POSITIONS
from dashboard.runs.selectors.runs import ACTIVE, TAKES_JOBS, WAITING
from dashboard.runs.services.dispatch import assign_queue_order, dispatch
from dashboard.runs.services.isolation import isolated
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import refresh_runs
from dashboard.runs.services.runs import plan_job

MOST_REPRESENTATIVES = 3
DEEP_QUEUE = 60  # waiting jobs of a machine
MOST_A_DAY = 8  # started on a machine
PATIENCE = timedelta(days=3)  # with what could not be started
WORKER_IS_ALIVE = timedelta(minutes=2)
STAYED = "The build did not change: it is measured again and compared with what was recorded."
NO_BASE = "It has never passed on this build: it is measured again, alone."
_RANKS = (Severity.HIGH, Severity.MEDIUM, Severity.LOW)
STEP = timedelta(milliseconds=1)  # between the planned times of jobs, which give their order


def start_due(*, now: datetime, track: Track | None = None) -> int:
    """Start what can be started, the most severe regressions first; how many.

    track: of this one alone; None: of all.
    """
    suspected = AlertGroup.objects.filter(
        OPEN,
        evidence_state=EvidenceState.SUSPECTED,
        machine__workers__isnull=False,
        alerts__series__benchmark__imported=False,
    ).distinct()
    measurable = suspected.exclude(kind=Kind.SILENCE)
    if track is not None:
        measurable = measurable.filter(track=track)
    started = 0
    for group in sorted(measurable, key=_rank):
        with isolated("confirmation could not be started", group=group.pk):
            started += _start_if_possible(group.pk, now)
    return started


def _rank(group: AlertGroup) -> tuple[bool, int, datetime]:
    is_improvement = group.direction == Direction.IMPROVEMENT
    return is_improvement, _RANKS.index(group.severity), group.created_at


def _start_if_possible(group_id: int, now: datetime) -> bool:
    """Start one group unless something speaks against it.

    The machine is locked: of two calls at once, one starts.
    """
    with transaction.atomic():
        group = AlertGroup.objects.select_related("machine").get(pk=group_id)
        assert group.machine_id is not None
        machine = Machine.objects.select_for_update(no_key=True).get(pk=group.machine_id)
        group.refresh_from_db()
        is_due = group.is_open and group.evidence_state == EvidenceState.SUSPECTED
        if not is_due or not runs_are_over(group=group):
            return False
        if why := reason_to_wait(machine=machine, now=now):
            _postpone(group, why, now)
            return False
        return start(group=group, now=now)


def runs_are_over(*, group: AlertGroup) -> bool:
    """Test whether the scheduled runs that had begun when it was seen are over.

    All that belongs to the group has been seen then.
    """
    active = Job.objects.filter(
        run__machine=group.machine_id,
        run__track=group.track_id,
        run__purpose=Purpose.SCHEDULED,
        state__in=ACTIVE,
        run__created_at__lte=group.created_at,
    )
    return not active.exists()


def reason_to_wait(*, machine: Machine, now: datetime, limited: bool = True) -> str:
    """Explain why nothing can be confirmed on the machine now; "" where it can.

    limited: the day's limit counts as well.
    """
    confirmations = Confirmation.objects.filter(group__machine=machine)
    if confirmations.filter(state=Confirmation.State.RUNNING).exists():
        return "Another confirmation is running on this machine."

    waiting = Job.objects.filter(run__machine=machine, state__in=WAITING).count()
    if waiting > DEEP_QUEUE:
        verb = "waits" if waiting == 1 else "wait"
        queue = f"{plural(waiting, 'job')} {verb} on this machine"
        return f"{queue}: it is confirmed when there are {DEEP_QUEUE} or fewer."

    today = confirmations.filter(created_at__gt=now - timedelta(days=1))
    if limited and today.exclude(state=Confirmation.State.SKIPPED).count() >= MOST_A_DAY:
        return f"{MOST_A_DAY} confirmations were started on this machine in a day, the limit."

    workers = Worker.objects.filter(TAKES_JOBS, machine=machine)
    if not workers.filter(last_seen__gt=now - WORKER_IS_ALIVE).exists():
        return "No worker of this machine takes jobs now."
    return ""


def _postpone(group: AlertGroup, why: str, now: datetime) -> None:
    """Keep why it is not confirmed yet; give up when that lasts."""
    defaults = {"state": Confirmation.State.SKIPPED, "message": why}
    Confirmation.objects.update_or_create(group=group, defaults=defaults)
    if group.created_at < now - PATIENCE:
        given_up = f"It could not be measured again. {why}"
        triage.move(group=group, to=AlertState.INCONCLUSIVE, why=given_up)


def start(*, group: AlertGroup, now: datetime) -> bool:
    """Settle the group and plan the first pairs of its representatives; False where it was settled
    into another one.
    """
    with transaction.atomic():
        if not settle(group=group):
            return False
        confirmation = plan(group=group, now=now)
        triage.move(group=group, to=AlertState.CONFIRMING, why=_sentence(confirmation))
    return True


def plan(*, group: AlertGroup, now: datetime) -> Confirmation:
    """Plan the first pairs, or go on with those of an earlier confirmation.

    Call it within a transaction.
    """
    Confirmation.objects.filter(group=group, state=Confirmation.State.SKIPPED).delete()
    confirmation = Confirmation.objects.filter(group=group).first() or _create(group)
    drawn = len(confirmation.order)
    only_new = confirmation.runs.count() == 1
    if only_new:
        rounds = confirming.NEW_ONLY_ROUNDS  # all at once: they are compared a single time
        order = ["new"] * rounds
    else:
        rounds = confirming.WARM_UPS + FEWEST
        order = confirming.draw_order(np.random.default_rng([group.pk, drawn]))
    confirmation.order = [*confirmation.order, *order]
    confirmation.only_new = only_new
    confirmation.message = _why_alone(group) if only_new else ""
    confirmation.state, confirmation.finished_at = Confirmation.State.RUNNING, None
    confirmation.created_at = now  # patience and the day's limit count from here
    confirmation.save()
    confirmation.alerts.update(confirmation="")
    alerts = list(confirmation.alerts.select_related("series__benchmark", "series__config", "job"))
    warm_ups = 0 if only_new else confirming.WARM_UPS
    plan_rounds(confirmation=confirmation, alerts=alerts, rounds=rounds, now=now, warm_ups=warm_ups)
    return confirmation


def _why_alone(group: AlertGroup) -> str:
    return NO_BASE if group.base is None else STAYED


def _create(group: AlertGroup) -> Confirmation:
    """Choose the representatives; a run for each build."""
    confirmation = Confirmation.objects.create(group=group)
    confirmation.alerts.set(representatives(group=group))
    builds = {"new": group.new}
    if group.base_id != group.new_id:
        builds["base"] = group.base
    measured = {side: build for side, build in builds.items() if build is not None}
    # A build that is measured alone is compared with what was recorded, on whichever devices
    session = f"confirmation {confirmation.pk}" if len(measured) > 1 else ""
    for side, build in measured.items():
        _create_run(confirmation, side, build, session)
    return confirmation


def representatives(*, group: AlertGroup) -> list[Alert]:
    """The alerts that stand for the group; a single one where none is significant."""
    ours = group.alerts.filter(series__benchmark__imported=False)
    related = ours.select_related("series__benchmark", "series__config", "job")
    alerts: dict[int, Alert] = {}
    suspicions = []
    for alert in related:
        if not alert.is_withdrawn:
            alerts[alert.pk] = alert
            suspicions.append(suspicion_of(alert))
    keys = grouping.significant(suspicions, alerting_series_count(group))
    significant = [suspicion for suspicion in suspicions if suspicion.key in keys]
    if significant:
        chosen = grouping.representatives(significant, MOST_REPRESENTATIVES)
    else:
        chosen = grouping.representatives(suspicions, 1)
    return [alerts[key] for key in chosen]


def _create_run(confirmation: Confirmation, side: str, build: TorchBuild, session: str) -> Run:
    group = confirmation.group
    assert group.machine is not None
    assert group.track is not None
    return Run.objects.create(
        label=f"Confirmation of alert {group.pk}: {side}"[:200],
        purpose=Purpose.CONFIRMATION,
        build=build,
        machine=group.machine,
        track=group.track,
        confirmation=confirmation,
        libraries=libraries_of(group),
        session=session,
        request={"side": side},
    )


def libraries_of(group: AlertGroup) -> dict[str, str]:
    """The newest libraries that both builds take, where their own newest ones differ.

    Only torch may differ between the two.
    """
    builds = [build.base or build for build in (group.base, group.new) if build is not None]
    versions = [build.version for build in builds]
    try:
        newest = [newest_set(version) for version in versions]
        if all(libraries == newest[0] for libraries in newest):
            return {}
        return shared_set(*versions)
    except PinError:
        return {}


def _sentence(confirmation: Confirmation) -> str:
    group = confirmation.group
    alerts = confirmation.alerts.select_related("series__benchmark", "series__config")
    cases = ", ".join(f"{alert.series.benchmark} in {alert.series.config}" for alert in alerts)
    if confirmation.only_new:
        return f"{group.new} is measured again: {cases}."
    return f"{group.base} and {group.new} are measured in turn: {cases}."


def plan_rounds(
    *,
    confirmation: Confirmation,
    alerts: Sequence[Alert],
    rounds: int,
    now: datetime,
    warm_ups: int = 0,
) -> None:
    """Plan so many more rounds of these alerts' cases, in the drawn order; sent on commit.

    warm_ups: how many of them, the first ones, are measured and not compared.
    """
    related = confirmation.runs.select_related("build", "machine")
    runs = {run.request["side"]: run for run in related}
    width = len(runs)
    first = pairs.planned_rounds(confirmation)
    planned = Job.objects.filter(run__confirmation=confirmation).order_by("-position")
    last = planned.values_list("position", flat=True).first()
    position = 0 if last is None else last + 1
    jobs = []
    for number, alert in product(range(first, first + rounds), alerts):
        measure = alert.job.spec.get("measure", {}) if alert.job else {}
        benchmark, config = alert.series.benchmark, alert.series.config
        for side in confirmation.order[number * width : (number + 1) * width]:
            planned_at = now + position * STEP
            job = plan_job(runs[side], position, benchmark, config, planned_at, measure)
            jobs.append(job)
            if number < first + warm_ups:
                runs[side].request.setdefault(WARM_UP_POSITIONS, []).append(position)
            position += 1
    if warm_ups:
        Run.objects.bulk_update(runs.values(), ["request"])
    ensure_partitions(moments=[job.planned_at for job in jobs])
    Job.objects.bulk_create(assign_queue_order(jobs))
    refresh_runs(run_ids={run.pk for run in runs.values()})
    transaction.on_commit(dispatch)
