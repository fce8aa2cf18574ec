"""Closes what went away: a series that is back at the level before an alert is that alert's end.

It is not an improvement of its own: nothing got better than it had been. The detector reports a
change back only when it knows the new level well; what is fixed soon after it was seen is back
before that (`close_recovered`).

An alert ends by results of its own kind alone: with the settings of its build, and of its version
of the benchmark. A run of the plain build fixes no variant, and a new revision not the one before.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from statistics import fmean, median
from typing import Any

from django.db.models import Max, Q

from dashboard.alerts.selectors.alerts import OF_OPEN_GROUP, WITHDRAWN
from dashboard.alerts.services import triage
from dashboard.alerts.services.changes import LevelChange
from dashboard.alerts.services.descriptions import describe, name_of
from dashboard.catalog.core.versions import variant_of
from dashboard.detection import Settings, compare_levels
from dashboard.language.wording import metric_of
from dashboard.models import (
    Alert,
    AlertGroup,
    AlertState,
    Datum,
    Direction,
    Kind,
    Series,
    TorchBuild,
)
from dashboard.results.core.series_points import (
    LEVEL_POINTS,
    SeriesPoint,
    judged_value,
    settings_of,
)
from dashboard.results.selectors import history

BACK = 1 / 3
"""The level is back when it is at most this share of the alert's change from the old one."""
FEWEST, MOST = 4, 12
"""Points since the change was seen, the newest ones, that are compared with the level before it."""
SURE = 0.995
_EVER = datetime.min.replace(tzinfo=UTC)


def undoes(*, change: LevelChange) -> bool:
    """Test whether the change undoes the last alert of its series, and end that alert if the change
    is of its own kind.

    A regression that gets better again; and what a trade-off had won, if what it had cost is going
    back as well.
    """
    earlier = Alert.objects.filter(series=change.series, planned_at__lt=change.first.at)
    standing = earlier.exclude(WITHDRAWN)
    # A point that was judged again may have an alert of either direction: the newer one holds
    newest_first = standing.order_by("-planned_at", "-pk")
    alert = newest_first.select_related("group", "series", "new").first()
    if alert is None or not _may_undo(change, alert) or not _is_back(alert, change):
        return False
    if alert.recovered_at is None and _own(alert, [change.first]):
        alert.recovered_at = change.first.at
        mark_recovered(alert=alert)
    return True


def _may_undo(change: LevelChange, alert: Alert) -> bool:
    if alert.direction == Direction.REGRESSION:
        return change.direction == Direction.IMPROVEMENT
    is_lost_again = (
        alert.direction == Direction.IMPROVEMENT and change.direction == Direction.REGRESSION
    )
    return is_lost_again and _is_given_back(alert.group, change.before.at)


def _is_given_back(group: AlertGroup, after: datetime) -> bool:
    """Test whether something got worse in a group, and all of it is nearer to its old level after
    this moment.
    """
    worse = list(group.alerts.filter(direction=Direction.REGRESSION).select_related("series"))
    still_worse = [alert for alert in worse if alert.recovered_at is None]
    return bool(worse) and all(_is_nearer_to_old(alert, after) for alert in still_worse)


def _is_nearer_to_old(alert: Alert, after: datetime) -> bool:
    newest = [value for _, value in _values(alert.series, history.readings(alert.series, after))]
    if not newest or "points" not in alert.decision:
        return False
    old, bad = map(median, _levels(alert))
    return abs(median(newest) - old) < abs(median(newest) - bad)


def _own(alert: Alert, readings: Iterable[SeriesPoint]) -> list[SeriesPoint]:
    """The readings that can end the alert."""
    first = Datum.objects.filter(series=alert.series, planned_at=alert.planned_at).first()
    version = first.benchmark_version if first else None
    current = [reading for reading in readings if version in (None, reading.version)]
    labels = TorchBuild.objects.filter(pk__in={reading.build for reading in current})
    variant = variant_of(alert.new.label) if alert.new else ""
    builds = {
        build for build, label in labels.values_list("pk", "label") if variant_of(label) == variant
    }
    return [reading for reading in current if reading.build in builds]


def _values(series: Series, readings: Iterable[SeriesPoint]) -> list[tuple[datetime, float]]:
    """List when the readings that have a value were planned, and the value."""
    settings = settings_of(metric_of(series.metric))
    values = []
    for reading in readings:
        value = judged_value(reading, settings)
        if value is not None:
            values.append((reading.at, value))
    return values


def close_recovered(*, series: Series) -> None:
    """End the alerts of a series whose newest points are back at the level before, without waiting
    for the detector.
    """
    alerts = Alert.objects.filter(
        OF_OPEN_GROUP,
        series=series,
        recovered_at=None,
        kind=Kind.STEP,
        direction=Direction.REGRESSION,
        decision__has_key="points",
    )
    for alert in alerts.select_related("group", "series", "new"):
        since = _values(series, _own(alert, history.readings(series, alert.seen_at)))
        newest = [value for _, value in since]
        count = _points_back(alert, newest, settings_of(metric_of(series.metric)))
        if count:
            alert.recovered_at = since[-count][0]
            mark_recovered(alert=alert)


def _points_back(alert: Alert, values: Sequence[float], settings: Settings) -> int:
    """Count the newest points that are back, for certain; 0: none, or not known yet.

    Their mean is near the old level, and the interval of their difference from it excludes half of
    the change.
    """
    before, bad = _levels(alert)
    change = abs(median(bad) - median(before))
    for count in range(min(len(values), MOST), FEWEST - 1, -1):
        difference = compare_levels(before, values[-count:], settings, SURE)
        scale = 1.0 if difference.unit == "difference" else 100 / abs(fmean(before))
        limit = change * scale
        farthest = max(abs(difference.low), abs(difference.high))
        if abs(difference.effect) <= BACK * limit and farthest < limit / 2:
            return count
    return 0


def _levels(alert: Alert) -> tuple[list[float], list[float]]:
    """The values on either side of the change, as they were when it was seen."""
    before, after = _sides(alert.decision)
    moments = map(datetime.fromisoformat, alert.decision["at"])
    began = _level_began(alert)
    settled = [value for value, at in zip(before, moments, strict=False) if at >= began]
    return (settled if len(settled) >= FEWEST else before)[-LEVEL_POINTS:], after


def _sides(decision: Mapping[str, Any]) -> tuple[list[float], list[float]]:
    values = [value for value, *_ in decision["points"]]
    index = decision["verdict"]["index"]
    return values[:index], values[index:]


def _level_began(alert: Alert) -> datetime:
    """Find when the series came to the level that the alert's change left: at its last change
    before, or at the end of that.
    """
    earlier = Alert.objects.filter(series=alert.series_id, planned_at__lt=alert.planned_at)
    times = earlier.exclude(confirmation=AlertState.NOT_REPRODUCED).aggregate(
        began=Max("planned_at"),
        ended=Max("recovered_at", filter=Q(recovered_at__lte=alert.planned_at)),
    )
    return max(filter(None, times.values()), default=_EVER)


def _is_back(alert: Alert, change: LevelChange) -> bool:
    if alert.kind == Kind.STATUS:
        return change.first.status == "pass"
    old, bad = map(median, _levels(alert))
    new = median(_sides(change.decision)[1])
    return bool(abs(new - old) <= BACK * abs(bad - old))


def mark_recovered(*, alert: Alert) -> None:
    """Keep that the alert has recovered; its group recovers with the last of its regressions.

    What did not reproduce, or was withdrawn, does not keep it open.
    """
    alert.save(update_fields=["recovered_at"])
    group = alert.group
    worse = group.alerts.filter(recovered_at=None).exclude(direction=Direction.IMPROVEMENT)
    still = worse.exclude(WITHDRAWN | Q(confirmation=AlertState.NOT_REPRODUCED)).exists()
    if still or AlertState.RECOVERED not in triage.possible(group=group, person=False):
        text = f"{name_of(alert.series)}: back at the level before."
        triage.record_event(group=group, text=text)
        describe(groups=[group])
        return
    why = "Measured: every series is back at the level before."
    triage.move(group=group, to=AlertState.RECOVERED, why=why)
