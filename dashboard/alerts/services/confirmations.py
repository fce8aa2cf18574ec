"""Has a suspicion measured again, base and new build in turn; services/concluding.py says what came
of it.

1. `start_due` takes suspected groups whose runs are over, one at a time on a machine, unless the
   queue is deep, too many were started today, or no worker is there; why not is kept on the
   Confirmation and tried again.
2. `start` chooses at most three representatives and plans the first pairs, in an order drawn
   beforehand: a run for each build, their jobs in turn.

A build that stayed cannot be compared with itself: what changed there (machine, environment, suite)
is measured again alone, and compared with the recorded level. The verdict says that this is weaker.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta

import numpy as np
from django.db import transaction

from dashboard.alerts.core import confirmation as confirming
from dashboard.alerts.core import grouping
from dashboard.alerts.selectors import pairs
from dashboard.alerts.selectors.evidence import judged_series, suspicion_of
from dashboard.alerts.services import triage
from dashboard.alerts.services.alert_groups import settle
from dashboard.catalog.core.pins import PinError, newest_set, shared_set
from dashboard.language.wording import plural
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Confirmation,
    Direction,
    Job,
    Kind,
    Machine,
    Purpose,
    Run,
    Severity,
    TorchBuild,
    Worker,
)
from dashboard.runs.services.dispatch import assign_queue_order, dispatch
from dashboard.runs.services.partitions import ensure_partitions
from dashboard.runs.services.run_state import ACTIVE, WAITING, refresh_runs
from dashboard.runs.services.runs import plan_job

MOST_REPRESENTATIVES = 3
DEEP_QUEUE = 60  # waiting jobs of a machine
MOST_A_DAY = 8  # started on a machine
PATIENCE = timedelta(days=3)  # with what could not be started
WORKER_IS_ALIVE = timedelta(minutes=2)
STAYED = "The build did not change: it is measured again and compared with what was recorded."
_RANKS = (Severity.HIGH, Severity.MEDIUM, Severity.LOW)
STEP = timedelta(milliseconds=1)  # between the planned times of jobs, which give their order


def start_due(*, now: datetime) -> int:
    """Start what can be started, the most severe regressions first; how many."""
    suspected = AlertGroup.objects.filter(
        state=AlertState.SUSPECTED, machine__workers__isnull=False
    ).distinct()
    measurable = suspected.exclude(kind=Kind.SILENCE)
    ranked = sorted(
        measurable,
        key=lambda group: (_is_better(group), _RANKS.index(group.severity), group.created_at),
    )
    return sum(_consider(group.pk, now) for group in ranked)


def _is_better(group: AlertGroup) -> bool:
    return group.direction == Direction.IMPROVEMENT


def _consider(group_id: int, now: datetime) -> bool:
    """Start one group unless something speaks against it. The machine is locked: two looks at once
    start one of two.
    """
    with transaction.atomic():
        group = AlertGroup.objects.select_related("machine").get(pk=group_id)
        assert group.machine_id is not None
        machine = Machine.objects.select_for_update(no_key=True).get(pk=group.machine_id)
        group.refresh_from_db()
        if group.state != AlertState.SUSPECTED or not is_settled(group=group):
            return False
        if why := why_not(machine=machine, now=now):
            _wait(group, why, now)
            return False
        return start(group=group, now=now)


def is_settled(*, group: AlertGroup) -> bool:
    """Whether the scheduled runs that had begun when it was seen are over, so that what belongs to
    it has been seen.
    """
    active = Job.objects.filter(
        run__machine=group.machine_id,
        run__track=group.track_id,
        run__purpose=Purpose.SCHEDULED,
        state__in=ACTIVE,
        run__created_at__lte=group.created_at,
    )
    return not active.exists()


def why_not(*, machine: Machine, now: datetime, limited: bool = True) -> str:
    """Why nothing is confirmed on the machine now; "" where it can be. limited: the day's limit
    counts, too.
    """
    jobs = Job.objects.filter(run__machine=machine)
    if Confirmation.objects.filter(
        group__machine=machine, state=Confirmation.State.RUNNING
    ).exists():
        return "Another confirmation is running on this machine."
    if (waiting := jobs.filter(state__in=WAITING).count()) > DEEP_QUEUE:
        queue = f"{plural(waiting, 'job')} {'waits' if waiting == 1 else 'wait'} on this machine"
        return f"{queue}: it is confirmed when there are {DEEP_QUEUE} or fewer."
    today = Confirmation.objects.filter(
        group__machine=machine, created_at__gt=now - timedelta(days=1)
    )
    if limited and today.exclude(state=Confirmation.State.SKIPPED).count() >= MOST_A_DAY:
        return f"{MOST_A_DAY} confirmations were started on this machine in a day, the limit."
    if not Worker.objects.filter(
        machine=machine, paused=False, last_seen__gt=now - WORKER_IS_ALIVE
    ).exists():
        return "No worker of this machine is there."
    return ""


def _wait(group: AlertGroup, why: str, now: datetime) -> None:
    """Keep why it is not confirmed yet; give up when that lasts."""
    defaults = {"state": Confirmation.State.SKIPPED, "message": why}
    Confirmation.objects.update_or_create(group=group, defaults=defaults)
    if group.created_at < now - PATIENCE:
        triage.move(
            group=group, to=AlertState.INCONCLUSIVE, why=f"It could not be measured again. {why}"
        )


def start(*, group: AlertGroup, now: datetime) -> bool:
    """Settle the group and plan the first pairs of its representatives; False where it was settled
    into another one.
    """
    with transaction.atomic():
        if not settle(group=group):
            return False
        confirmation = plan(group=group, now=now)
        triage.move(group=group, to=AlertState.CONFIRMING, why=_says_what(confirmation))
    return True


def plan(*, group: AlertGroup, now: datetime) -> Confirmation:
    """Plan the first pairs, or go on with those of an earlier confirmation. Call it within a
    transaction.
    """
    Confirmation.objects.filter(group=group, state=Confirmation.State.SKIPPED).delete()
    confirmation = Confirmation.objects.filter(group=group).first() or _begin(group)
    alone = confirmation.runs.count() == 1
    drawn = [*confirmation.order]
    rounds = confirming.ALONE if alone else confirming.MOST
    generator = np.random.default_rng([group.pk, len(drawn)])
    confirmation.order = [
        *drawn,
        *(["new"] * rounds if alone else confirming.draw_order(generator)),
    ]
    confirmation.only_new, confirmation.message = alone, STAYED if alone else ""
    confirmation.state, confirmation.finished_at = Confirmation.State.RUNNING, None
    confirmation.created_at = now  # patience and the day's limit count from here
    confirmation.save()
    confirmation.alerts.update(confirmation="")
    alerts = list(confirmation.alerts.select_related("series__benchmark", "series__config", "job"))
    first = rounds if alone else confirming.FEWEST
    plan_rounds(confirmation=confirmation, alerts=alerts, rounds=first, now=now)
    return confirmation


def _begin(group: AlertGroup) -> Confirmation:
    """Choose the representatives; a run for each build."""
    confirmation = Confirmation.objects.create(group=group)
    confirmation.alerts.set(representatives(group=group))
    for side, build in _builds(group, only_new=group.base_id == group.new_id).items():
        _make_run(confirmation, side, build)
    return confirmation


def representatives(*, group: AlertGroup) -> list[Alert]:
    """The alerts that stand for the group; one alone where the false discovery rate lets none
    count.
    """
    alerts = {
        one.pk: one
        for one in group.alerts.select_related("series__benchmark", "series__config", "job")
    }
    suspicions = [
        suspicion_of(alert) for alert in alerts.values() if not alert.decision.get("withdrawn")
    ]
    passing = grouping.counted(suspicions, judged_series(group))
    counted = [one for one in suspicions if one.key in passing]
    chosen = grouping.representatives(counted or suspicions, MOST_REPRESENTATIVES if counted else 1)
    return [alerts[key] for key in chosen]


def _builds(group: AlertGroup, *, only_new: bool) -> dict[str, TorchBuild]:
    builds = {"base": group.base, "new": group.new}
    return {
        side: build for side, build in builds.items() if build and not (only_new and side == "base")
    }


def _make_run(confirmation: Confirmation, side: str, build: TorchBuild) -> Run:
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
        libraries=_libraries(group),
        request={"side": side},
    )


def _libraries(group: AlertGroup) -> dict[str, str]:
    """The newest libraries that both builds take, where their own newest ones differ: only torch
    may differ.
    """
    builds = [build.base or build for build in (group.base, group.new) if build is not None]
    try:
        own = [newest_set(build.version) for build in builds]
        return (
            {}
            if all(one == own[0] for one in own)
            else shared_set(*(build.version for build in builds))
        )
    except PinError:
        return {}


def _says_what(confirmation: Confirmation) -> str:
    group, alerts = (
        confirmation.group,
        confirmation.alerts.select_related("series__benchmark", "series__config"),
    )
    cases = ", ".join(f"{alert.series.benchmark} in {alert.series.config}" for alert in alerts)
    alone = confirmation.only_new
    what = (
        f"{group.new} is measured again"
        if alone
        else f"{group.base} and {group.new} are measured in turn"
    )
    return f"{what}: {cases}."


def plan_rounds(
    *, confirmation: Confirmation, alerts: Sequence[Alert], rounds: int, now: datetime
) -> None:
    """Plan so many more rounds of these alerts' cases, in the drawn order, and send them on
    commit.
    """
    runs = {
        run.request["side"]: run for run in confirmation.runs.select_related("build", "machine")
    }
    width = len(runs)
    done = (
        Job.objects.filter(run__confirmation=confirmation)
        .order_by("-position")
        .values_list("position", flat=True)
    )
    place = done[0] + 1 if done else 0
    first = pairs.rounds(confirmation)
    turns = [
        confirmation.order[at * width : (at + 1) * width] for at in range(first, first + rounds)
    ]
    jobs = []
    for alert, side in ((alert, side) for turn in turns for alert in alerts for side in turn):
        measure = alert.job.spec.get("measure", {}) if alert.job else {}
        series, at = alert.series, now + place * STEP
        jobs.append(plan_job(runs[side], place, series.benchmark, series.config, at, measure))
        place += 1
    ensure_partitions(moments=[job.planned_at for job in jobs])
    Job.objects.bulk_create(assign_queue_order(jobs))
    refresh_runs(run_ids={run.pk for run in runs.values()})
    transaction.on_commit(dispatch)
