"""Raises one alert for a case that passes and fails by turns, as inconclusive, and not one each
turn (dashboard/alerts/core/flakiness.py).

It ends by itself: with points that pass in a row it has recovered, with points that fail in a row
it is a suspicion again, which is measured again like any other.
"""

from datetime import datetime

from django.db.models import QuerySet

from dashboard.alerts.core import flakiness
from dashboard.alerts.selectors.alerts import OF_STANDING_GROUP
from dashboard.alerts.services import recovery, triage
from dashboard.alerts.services.changes import LevelChange
from dashboard.alerts.services.descriptions import describe
from dashboard.models import Alert, AlertState, Direction, Kind, Series
from dashboard.results.core.series_points import SeriesPoint
from dashboard.results.selectors import history

FLAKY = "flaky"


def is_another_turn(*, change: LevelChange) -> bool:
    """Test whether the change is one more turn of a case that has an alert as flaky."""
    return change.kind == Kind.STATUS and _flaky_alerts(change.series).exists()


def is_flaky_failure(*, change: LevelChange) -> bool:
    """Test whether this failure is raised as flaky instead of as a failure."""
    if change.kind != Kind.STATUS or change.direction != Direction.REGRESSION:
        return False
    return flakiness.is_flaky(_readings_until(change.series, change.seen.at))


def close_as_flaky(*, alert: Alert) -> None:
    """Close the question: measuring it again would say one thing now and another thing later."""
    alert.decision |= {FLAKY: True, "words": ["pass", FLAKY]}
    alert.save(update_fields=["decision"])
    describe(groups=[alert.group])
    why = flakiness.sentence(_readings_until(alert.series, alert.seen_at))
    if alert.group.is_open:
        triage.move(group=alert.group, to=AlertState.INCONCLUSIVE, why=why)
    else:
        triage.record_event(group=alert.group, text=why)


def end_if_settled(*, series: Series) -> None:
    """End the flaky alert of a series that is not flaky any more."""
    alerts = _flaky_alerts(series).select_related("group", "series__benchmark", "series__config")
    alert = alerts.first()
    if alert is None:
        return
    readings = history.readings(series)
    if not flakiness.has_settled(readings):
        return
    newest = readings[-1]
    alert.decision = {**alert.decision, FLAKY: False, "words": ["pass", newest.status]}
    if flakiness.passes(newest):
        alert.recovered_at = readings[-flakiness.SETTLED].at
    alert.save(update_fields=["decision"])
    if alert.recovered_at:
        recovery.mark_recovered(alert=alert)
        return
    why = f"It has failed {flakiness.SETTLED} times in a row: it is not flaky any more."
    describe(groups=[alert.group])
    if AlertState.SUSPECTED in triage.possible(group=alert.group, person=False):
        triage.move(group=alert.group, to=AlertState.SUSPECTED, why=why)
    else:
        triage.record_event(group=alert.group, text=why)


def _readings_until(series: Series, moment: datetime) -> list[SeriesPoint]:
    return [reading for reading in history.readings(series) if reading.at <= moment]


def _flaky_alerts(series: Series) -> QuerySet[Alert]:
    return Alert.objects.filter(OF_STANDING_GROUP, series=series, decision__flaky=True)
