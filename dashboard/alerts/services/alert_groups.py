"""Raises the alert of a change and puts it in its group, or withdraws it when its points are gone.

`raise_alert` reads from top to bottom. Everything happens in the transaction that advanced the
detector, under a lock on the track: of two changes of one build that are seen at the same time,
the second one finds the group of the first.
"""

from collections.abc import Sequence
from datetime import datetime

from django.db.models import Q
from django.utils import timezone

from dashboard.alerts.core import grouping
from dashboard.alerts.core.attribution import Evidence, attribute
from dashboard.alerts.selectors.alerts import OPEN
from dashboard.alerts.selectors.evidence import suspicion_of
from dashboard.alerts.selectors.facts import facts_of
from dashboard.alerts.services import flaky, recovery, triage
from dashboard.alerts.services.causes import reattribute
from dashboard.alerts.services.changes import LevelChange
from dashboard.alerts.services.descriptions import describe, name_of
from dashboard.detection import VERSION
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Kind,
    Run,
    Series,
    Track,
    WorkflowState,
)
from dashboard.results.core.series_points import SNAP
from dashboard.results.selectors.history import JUDGED

_JOINABLE = OPEN | Q(workflow_state=WorkflowState.WONTFIX)


def raise_alert(*, change: LevelChange) -> Alert | None:
    """The alert of a change, in its group; None where the series is muted, the change has an alert
    already, is one more turn of a flaky case, or undoes an earlier change.
    """
    if change.series.mutes.filter(until__gt=change.seen.at).exists():
        return None
    Track.objects.select_for_update(no_key=True).get(pk=change.series.track_id)
    existing = _existing_alert(change)
    if existing is not None:
        reinstate(alert=existing)
        return None
    if flaky.is_another_turn(change=change):
        return None
    is_flaky = flaky.is_flaky_failure(change=change)
    if not is_flaky and recovery.undoes(change=change):
        return None

    alert = _new_alert(change)
    # A flaky case gets a group of its own: the question is closed for this case alone.
    save_in_group(alert=alert, alone=is_flaky, is_old=change.is_old)
    if is_flaky:
        flaky.close_as_flaky(alert=alert)
    return alert


def _existing_alert(change: LevelChange) -> Alert | None:
    """The alert of this change: of the same series, kind and direction, its first point at most
    SNAP away.

    Where a status changed is certain.
    """
    index = change.decision["verdict"]["index"]
    reach = 0 if change.kind == Kind.STATUS else SNAP
    near = change.decision["at"][max(0, index - reach) : index + reach + 1]
    moments = [change.first.at, *map(datetime.fromisoformat, near)]
    return Alert.objects.filter(
        series=change.series,
        kind=change.kind,
        direction=change.direction,
        planned_at__gte=min(moments),
        planned_at__lte=max(moments),
    ).first()


def _new_alert(change: LevelChange) -> Alert:
    """Not saved yet."""
    verdict = change.verdict
    decision = dict(change.decision)
    if change.kind == Kind.STATUS:
        decision["words"] = [change.before.status, change.first.status]
    return Alert(
        series=change.series,
        kind=change.kind,
        direction=change.direction,
        job_id=change.first.job,
        planned_at=change.first.at,
        seen_at=change.seen.at,
        base_id=change.before.build,
        new_id=change.first.build,
        effect=verdict.effect,
        low=verdict.effect_low,
        high=verdict.effect_high,
        unit=verdict.unit,
        false_alarm_share=1 - verdict.sure,
        detector_version=str(VERSION),
        decision=decision,
    )


# --- The group of an alert


def save_in_group(*, alert: Alert, alone: bool = False, is_old: bool = False) -> None:
    """Save the alert in the open group that it belongs to, or in a new one.

    alone: in a new one in any case. is_old: a new one is closed from the start. The caller holds
    the lock on the track.
    """
    cause, evidence = attribute(facts_of(alert))
    alert.decision["cause"] = cause
    group = None if alone else _group_to_join(alert)
    if group is None:
        _open_group(alert, evidence, is_old)
    else:
        _join(alert, group)


def _group_to_join(alert: Alert) -> AlertGroup | None:
    groups = {group.pk: group for group in _groups_of_build(alert)}
    candidates = [_open_group_of(group) for group in groups.values()]
    chosen = grouping.choose_group(suspicion_of(alert), candidates)
    if chosen is None:
        return None
    return groups[chosen]


def _groups_of_build(alert: Alert) -> list[AlertGroup]:
    """The groups of the same build on the same track and machine, reached from the same base or at
    about the same time. Where the build stayed only the time counts.
    """
    groups = AlertGroup.objects.filter(
        _JOINABLE,
        machine=alert.series.machine_id,
        track=alert.series.track_id,
        new=alert.new_id,
    ).exclude(kind=Kind.SILENCE)
    # A series both better and worse is not a trade-off: its points were judged again
    turned = Alert.objects.filter(series=alert.series_id).exclude(direction=alert.direction)
    groups = groups.exclude(pk__in=turned.values("group"))
    build_stayed = alert.base_id == alert.new_id
    if build_stayed:
        groups = groups.filter(kind=Kind.ENVIRONMENT)
    else:
        groups = groups.exclude(kind=Kind.ENVIRONMENT)
    # A track may come back to a build: what changes then has nothing to do with what changed the
    # first time.
    of_step = []
    for group in groups.order_by("pk"):
        same_step = not build_stayed and group.base_id == alert.base_id
        if same_step or _is_near(group, alert):
            of_step.append(group)
    return of_step


def _is_near(group: AlertGroup, alert: Alert) -> bool:
    """Test whether at most SNAP runs lie between the change and those of the group."""
    runs = Run.objects.filter(
        machine=alert.series.machine_id,
        track=alert.series.track_id,
        purpose__in=JUDGED,
    )
    for moment in group.alerts.values_list("planned_at", flat=True).distinct():
        first, last = sorted([moment, alert.planned_at])
        if runs.filter(created_at__gt=first, created_at__lte=last).count() <= SNAP:
            return True
    return False


def _open_group_of(group: AlertGroup) -> grouping.OpenGroup:
    alerts = group.alerts.select_related("series__benchmark", "series__config")
    suspicions = [suspicion_of(alert) for alert in alerts]
    return grouping.OpenGroup(
        key=group.pk,
        cause=group.cause,
        direction=grouping.direction_of(suspicions),
        cases=frozenset(suspicion.case for suspicion in suspicions),
    )


def _open_group(alert: Alert, evidence: Sequence[Evidence], is_old: bool) -> None:
    """Save the alert in a new group."""
    group = AlertGroup(
        title=str(alert)[:300],
        kind=Kind.ENVIRONMENT if alert.base_id == alert.new_id else alert.kind,
        direction=alert.direction,
        cause=alert.decision["cause"],
        evidence=[piece.document() for piece in evidence],
        machine=alert.series.machine,
        track=alert.series.track,
        base_id=alert.base_id,
        new_id=alert.new_id,
    )
    if is_old:
        group.workflow_state, group.closed_at = WorkflowState.WONTFIX, timezone.now()
    group.save()
    alert.group = group
    alert.save()
    describe(groups=[group])
    triage.record_opened(group=group)


def _join(alert: Alert, group: AlertGroup) -> None:
    """Save the alert in an open group, which may learn its cause from it."""
    alert.group = group
    alert.save()
    if group.cause == "unknown" != alert.decision["cause"]:
        reattribute(group=group)
    describe(groups=[group])


# --- Alerts whose points were taken out, or are back


def withdraw_unsupported(*, series: Series, changes: Sequence[LevelChange]) -> None:
    """After a series was read again: withdraw its alerts that are not among these changes."""
    supported = set()
    for change in changes:
        existing = _existing_alert(change)
        if existing is not None:
            supported.add(existing.pk)
    unsupported = Alert.objects.filter(series=series).exclude(pk__in=supported)
    # What has no base is not of the detector (first_failures.py)
    standing = unsupported.filter(recovered_at=None, base__isnull=False)
    for alert in standing.select_related("group"):
        withdraw(alert=alert)


def withdraw(*, alert: Alert) -> None:
    """Withdraw what rested on points that were taken out.

    Its group closes when nothing of it stands; what is closed stays as it is.
    """
    if not alert.group.is_open or alert.is_withdrawn:
        return
    alert.decision["withdrawn"] = True
    alert.save(update_fields=["decision"])
    why = f"{name_of(alert.series)}: no change any more, its points were judged again."
    if all(other.is_withdrawn for other in alert.group.alerts.all()):
        triage.move(group=alert.group, to=AlertState.INVALID, why=why)
    else:
        triage.record_event(group=alert.group, text=why)
        describe(groups=[alert.group])


def reinstate(*, alert: Alert) -> None:
    """A point that had been taken out is back, and so is its change."""
    if not alert.decision.pop("withdrawn", False):
        return
    alert.save(update_fields=["decision"])
    describe(groups=[alert.group])
    last = alert.group.events.filter(action="state").last()
    closed_by_system = last is not None and last.by_id is None
    if alert.group.workflow_state == WorkflowState.INVALID and closed_by_system:
        why = "Its points were judged again, and show it again."
        triage.move(group=alert.group, to=AlertState.SUSPECTED, why=why)
