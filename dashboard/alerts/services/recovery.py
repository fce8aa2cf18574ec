"""Closes what went away: a series that is back at the level before an alert is that alert's end.

It is not told as an improvement of its own: nothing got better than it had been. The detector tells
a change back only when it knows the new level well; what is set right soon after it was seen is
back before that (`close_recovered`).
"""

from collections.abc import Sequence
from datetime import datetime
from statistics import fmean, median

from dashboard.alerts.services import triage
from dashboard.alerts.services.changes import LevelChange
from dashboard.alerts.services.descriptions import describe
from dashboard.detection import Settings, judge
from dashboard.language.metrics import METRICS
from dashboard.models import Alert, AlertGroup, AlertState, Direction, Kind, Series
from dashboard.results.core.series_points import LEVEL_POINTS, judged_value, settings_of
from dashboard.results.selectors import history

BACK = 1 / 3
"""The new level is back when it is no further from the old one than this share of the alert's
change.
"""
FEWEST, MOST = 4, 12
"""Points since the change was seen, the newest ones, that are compared with the level before it."""
SURE = 0.995


def undoes(*, change: LevelChange) -> bool:
    """Whether the change undoes what was told of its series; its alert, and maybe its group, then
    end.

    A regression that gets better again; and what a trade-off had won, if what it had cost is going
    back as well.
    """
    earlier = Alert.objects.filter(series=change.series, planned_at__lt=change.first.at).order_by(
        "-planned_at"
    )
    alert = earlier.select_related("group").first()
    if alert is None or not _may_undo(change, alert) or not _is_back(alert, change):
        return False
    if alert.recovered_at is None:
        alert.recovered_at = change.first.at
        close(alert=alert)
    return True


def _may_undo(change: LevelChange, alert: Alert) -> bool:
    if (change.direction, alert.direction) == (Direction.IMPROVEMENT, Direction.REGRESSION):
        return True
    lost_again = (change.direction, alert.direction) == (
        Direction.REGRESSION,
        Direction.IMPROVEMENT,
    )
    return lost_again and _is_given_back(alert.group, change.before.at)


def _is_given_back(group: AlertGroup, after: datetime) -> bool:
    """Whether something got worse in a group, and all that did is after this moment nearer to its
    old level.
    """
    worse = group.alerts.filter(direction=Direction.REGRESSION).select_related("series")
    still = [alert for alert in worse if alert.recovered_at is None]
    return bool(worse) and all(
        _is_nearer_to_old(one, [v for _, v in _values(one.series, after)]) for one in still
    )


def _is_nearer_to_old(alert: Alert, newest: Sequence[float]) -> bool:
    if not newest or "points" not in alert.decision:
        return False
    old, bad = map(median, levels(alert))
    return abs(median(newest) - old) < abs(median(newest) - bad)


def _values(series: Series, after: datetime) -> list[tuple[datetime, float]]:
    """The data of a series after a moment that have a value, with when they were planned."""
    settings = settings_of(METRICS[series.metric])
    found = ((one.at, judged_value(one, settings)) for one in history.readings(series, after))
    return [(at, value) for at, value in found if value is not None]


def close_recovered(*, series: Series) -> None:
    """End the alerts of a series whose newest points are back at the level before, without waiting
    for the detector.
    """
    told = Alert.objects.filter(
        series=series, recovered_at=None, kind=Kind.STEP, direction=Direction.REGRESSION
    )
    alerts = told.filter(group__state__in=triage.OPEN, decision__has_key="points").select_related(
        "group"
    )
    for alert in alerts:
        since = _values(series, alert.seen_at)
        count = _points_back(
            alert, [value for _, value in since], settings_of(METRICS[series.metric])
        )
        if count:
            alert.recovered_at = since[-count][0]
            close(alert=alert)


def _points_back(alert: Alert, values: Sequence[float], settings: Settings) -> int:
    """How many of the newest points are back, for certain; 0: none, or not known yet.

    Their mean is near the old level, and the interval of their difference from it excludes half of
    the change.
    """
    before, bad = levels(alert)
    change = median(bad) - median(before)
    for count in range(min(len(values), MOST), FEWEST - 1, -1):
        newest = values[-count:]
        found = judge(before, newest, settings, SURE)
        scale = 1.0 if found.unit == "difference" else 100 / abs(fmean(before))
        limit = abs(change) * scale
        if abs(found.effect) <= BACK * limit and max(abs(found.low), abs(found.high)) < limit / 2:
            return count
    return 0


def levels(alert: Alert) -> tuple[list[float], list[float]]:
    """The values on either side of the change, as they were when it was told."""
    values, index = (
        [value for value, *_ in alert.decision["points"]],
        alert.decision["verdict"]["index"],
    )
    return values[:index][-LEVEL_POINTS:], values[index:]


def _is_back(alert: Alert, change: LevelChange) -> bool:
    if alert.kind == Kind.STATUS:
        return change.first.status == "pass"
    before, after = levels(alert)
    now = [value for value, *_ in change.decision["points"]][change.decision["verdict"]["index"] :]
    old, bad, new = median(before), median(after), median(now)
    return bool(abs(new - old) <= BACK * abs(bad - old))


def close(*, alert: Alert) -> None:
    """Keep that the alert has recovered. Its group does with the last of its regressions that were
    there at all.
    """
    alert.save(update_fields=["recovered_at"])
    group = alert.group
    worse = group.alerts.filter(recovered_at=None).exclude(direction=Direction.IMPROVEMENT)
    still = worse.exclude(confirmation=AlertState.NOT_REPRODUCED).exists()
    if still or AlertState.RECOVERED not in triage.possible(group=group, person=False):
        where = f"{alert.series.metric} of {alert.series.benchmark} in {alert.series.config}"
        triage.record_event(group=group, text=f"{where} is back at the level before.")
        describe(groups=[group])
        return
    triage.move(
        group=group,
        to=AlertState.RECOVERED,
        why="Measured: every series is back at the level before.",
    )
