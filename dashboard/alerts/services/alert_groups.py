"""Makes alerts of changes, places them in groups, and says whose fault they are likely to be.

Everything happens in the transaction that advanced the detector, under a lock on the track: of two
changes of one build that are judged at the same time, the second one finds the group of the first.
"""

from collections.abc import Sequence
from datetime import datetime

from dashboard.alerts.core import attribution, grouping
from dashboard.alerts.selectors.evidence import suspicion_of
from dashboard.alerts.selectors.facts import facts_of
from dashboard.alerts.services import flaky, recovery, triage
from dashboard.alerts.services.changes import LevelChange
from dashboard.alerts.services.descriptions import describe
from dashboard.detection import VERSION
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Direction,
    Kind,
    Purpose,
    Run,
    Series,
    Track,
)
from dashboard.results.core.series_points import SNAP

JOINABLE = (*triage.OPEN, AlertState.WONTFIX)


def raise_alert(*, change: LevelChange) -> Alert | None:
    """The alert of a change, in its group; None where it is muted, known, or undoes an earlier
    change.
    """
    if change.series.mutes.filter(until__gt=change.seen.at).exists():
        return None
    Track.objects.select_for_update(no_key=True).get(pk=change.series.track_id)
    known = _known(change)
    if known is not None:
        _stands_again(known)
        return None
    if flaky.is_told(change=change):
        return None
    if flaky.applies(change=change):
        return _tell_flaky(change)
    if recovery.undoes(change=change):
        return None
    return _place(_new_alert(change), change.direction)


def _tell_flaky(change: LevelChange) -> Alert:
    """In a group of its own: the question is closed for this case alone."""
    alert = _new_alert(change)
    _open(alert, change.direction)
    flaky.tell(alert=alert)
    return alert


def _known(change: LevelChange) -> Alert | None:
    """The alert that tells this change already: the same series and kind, its first point no more
    than SNAP away.

    Where a status changed is certain.
    """
    index, reach = change.decision["verdict"]["index"], 0 if change.kind == Kind.STATUS else SNAP
    near = change.decision["at"][max(0, index - reach) : index + reach + 1]
    moments = [change.first.at, *map(datetime.fromisoformat, near)]
    there = Alert.objects.filter(series=change.series, kind=change.kind, direction=change.direction)
    return there.filter(planned_at__gte=min(moments), planned_at__lte=max(moments)).first()


def _new_alert(change: LevelChange) -> Alert:
    """Not saved."""
    verdict = change.verdict
    words = [change.before.status, change.first.status] if change.kind == Kind.STATUS else None
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
        unit=verdict.unit or "",
        false_alarm_share=None if verdict.sure is None else 1 - verdict.sure,
        detector_version=str(VERSION),
        decision={**change.decision, **({"words": words} if words else {})},
    )


def _place(alert: Alert, direction: Direction) -> Alert:
    """Save the alert in the group that it belongs to, or in a new one."""
    cause, _ = attribution.attribute(facts_of(alert))
    alert.decision["cause"] = cause
    groups = {group.pk: group for group in _groups_there(alert)}
    chosen = grouping.place(suspicion_of(alert), [_place_of(group) for group in groups.values()])
    if chosen is None:
        return _open(alert, direction)
    alert.group = group = groups[chosen]
    alert.save()
    if group.cause == "unknown" != cause:
        reattribute(group=group)
    describe(groups=[group])
    return alert


def _open(alert: Alert, direction: Direction) -> Alert:
    """Save the alert in a new group."""
    cause, evidence = attribution.attribute(facts_of(alert))
    alert.decision["cause"] = cause
    alert.group = group = _new_group(alert, direction, cause)
    alert.save()
    group.evidence = [piece.document() for piece in evidence]
    group.save(update_fields=["evidence"])
    describe(groups=[group])
    triage.tell_opened(group=group)
    return alert


def _groups_there(alert: Alert) -> list[AlertGroup]:
    """The groups of the same build on the same track and machine: reached from the same base, or at
    about the same time. Where the build stayed only the time tells.
    """
    found = AlertGroup.objects.filter(
        machine=alert.series.machine_id,
        track=alert.series.track_id,
        new=alert.new_id,
        state__in=JOINABLE,
    ).exclude(kind=Kind.SILENCE)
    stayed = alert.base_id == alert.new_id
    alike = found.filter(kind=Kind.ENVIRONMENT) if stayed else found.exclude(kind=Kind.ENVIRONMENT)
    # A track may come back to a build: what changes then has nothing to do with what changed the
    # first time.
    return [
        group
        for group in alike.order_by("pk")
        if (not stayed and group.base_id == alert.base_id) or _near(group, alert)
    ]


def _near(group: AlertGroup, alert: Alert) -> bool:
    """Whether at most SNAP scheduled runs lie between the change and those of the group."""
    runs = Run.objects.filter(
        machine=alert.series.machine_id, track=alert.series.track_id, purpose=Purpose.SCHEDULED
    )
    for moment in group.alerts.values_list("planned_at", flat=True).distinct():
        ends = sorted([moment, alert.planned_at])
        if runs.filter(created_at__gt=ends[0], created_at__lte=ends[1]).count() <= SNAP:
            return True
    return False


def _place_of(group: AlertGroup) -> grouping.OpenGroup:
    alerts = group.alerts.select_related("series__benchmark", "series__config")
    suspicions = [suspicion_of(alert) for alert in alerts]
    return grouping.OpenGroup(
        group.pk,
        group.cause,
        grouping.direction_of(suspicions),
        frozenset(one.case for one in suspicions),
    )


def _new_group(alert: Alert, direction: Direction, cause: str) -> AlertGroup:
    kind = Kind.ENVIRONMENT if alert.base_id == alert.new_id else alert.kind
    return AlertGroup.objects.create(
        title=str(alert)[:300],
        kind=kind,
        direction=direction,
        cause=cause,
        machine=alert.series.machine,
        track=alert.series.track,
        base_id=alert.base_id,
        new_id=alert.new_id,
    )


def reattribute(*, group: AlertGroup) -> None:
    """Look at the facts of every alert anew, and give the group the cause that most of them have
    evidence for.
    """
    alerts = list(
        group.alerts.select_related("series__benchmark", "series__config", "base", "new", "group")
    )
    pieces: dict[tuple[str, str], dict[str, str]] = {}
    for alert in alerts:
        cause, evidence = attribution.attribute(facts_of(alert))
        if alert.decision.get("cause") != cause:
            alert.decision["cause"] = cause
            alert.save(update_fields=["decision"])
        pieces |= {(piece.fact, piece.says): piece.document() for piece in evidence}
    likely = grouping.cause_of([suspicion_of(alert) for alert in alerts])
    changed, group.cause = group.cause != likely, likely
    group.evidence = sorted(
        pieces.values(), key=lambda one: (one["supports"] != likely, not one["supports"])
    )
    group.save(update_fields=["cause", "evidence"])
    if changed:
        triage.tell_cause(group=group)


def settle(*, group: AlertGroup) -> bool:
    """Once all data of its runs are there: look at the facts again, and join the group that has the
    same cause now.

    False where it was joined into another one. What a person has split or merged stays as it is.
    """
    reattribute(group=group)
    other = _same_cause(group)
    if other is None:
        return True
    triage.merge(group=group, into=other, by=None, why="the same build, cause and direction")
    reattribute(group=other)
    return False


def _same_cause(group: AlertGroup) -> AlertGroup | None:
    """An older open group of the same builds with the same, known cause that nobody has arranged by
    hand.
    """
    if group.cause == "unknown" or _is_arranged(group):
        return None
    older = AlertGroup.objects.filter(
        pk__lt=group.pk,
        machine=group.machine_id,
        track=group.track_id,
        base=group.base_id,
        new=group.new_id,
        kind=group.kind,
        cause=group.cause,
        direction=group.direction,
        state__in=triage.OPEN,
    )
    return next((one for one in older.order_by("pk") if not _is_arranged(one)), None)


def _is_arranged(group: AlertGroup) -> bool:
    return group.events.filter(action__in=("split", "merged"), by__isnull=False).exists()


def reconsider(*, series: Series, changes: Sequence[LevelChange]) -> None:
    """After a series was judged anew: withdraw its alerts that are no longer told."""
    told = {known.pk for change in changes if (known := _known(change)) is not None}
    for alert in (
        Alert.objects.filter(series=series, recovered_at=None)
        .exclude(pk__in=told)
        .select_related("group")
    ):
        if alert.group.state in triage.OPEN and not alert.decision.get("withdrawn"):
            _withdraw(alert)


def _withdraw(alert: Alert) -> None:
    """The group closes when nothing of it stands."""
    alert.decision["withdrawn"] = True
    alert.save(update_fields=["decision"])
    why = (
        f"{alert.series.metric} of {alert.series.benchmark} in {alert.series.config} no "
        "longer shows a change"
    )
    if all(other.decision.get("withdrawn") for other in alert.group.alerts.all()):
        triage.move(
            group=alert.group, to=AlertState.INVALID, why=f"{why}: its points were judged anew."
        )
    else:
        triage.record_event(group=alert.group, text=f"{why}: its points were judged anew.")


def _stands_again(alert: Alert) -> None:
    """A point that had been taken out is back, and so is its change."""
    if not alert.decision.pop("withdrawn", False):
        return
    alert.save(update_fields=["decision"])
    last = alert.group.events.filter(action="state").last()
    if alert.group.state == AlertState.INVALID and last is not None and last.by_id is None:
        triage.move(
            group=alert.group,
            to=AlertState.SUSPECTED,
            why="Its points were judged anew, and show it again.",
        )
