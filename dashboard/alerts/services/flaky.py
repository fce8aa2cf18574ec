"""Tells a case that passes and fails by turns once, as inconclusive, and not each turn
(dashboard/alerts/core/flakiness.py).

It ends by itself: with points that pass in a row it has recovered, with points that fail in a row
it is a suspicion again, which is measured again as any other.
"""

from django.db.models import QuerySet

from dashboard.alerts.core import flakiness
from dashboard.alerts.services import recovery, triage
from dashboard.alerts.services.changes import LevelChange
from dashboard.alerts.services.descriptions import describe
from dashboard.models import Alert, AlertState, Direction, Kind, Series
from dashboard.results.selectors import history

FLAKY = "flaky"
_TOLD = (*triage.OPEN, AlertState.WONTFIX)


def is_told(*, change: LevelChange) -> bool:
    """Whether the change is one more turn of a case that was told as flaky."""
    return change.kind == Kind.STATUS and _alerts(change.series).exists()


def applies(*, change: LevelChange) -> bool:
    """Whether this failure is told as flaky instead of as a failure."""
    if change.kind != Kind.STATUS or change.direction != Direction.REGRESSION:
        return False
    return flakiness.is_flaky(
        [one for one in history.readings(change.series) if one.at <= change.seen.at]
    )


def tell(*, alert: Alert) -> None:
    """Close the question: measuring it again would say one thing now and another thing later."""
    alert.decision |= {FLAKY: True, "words": ["pass", FLAKY]}
    alert.save(update_fields=["decision"])
    describe(groups=[alert.group])
    until = [one for one in history.readings(alert.series) if one.at <= alert.seen_at]
    triage.move(group=alert.group, to=AlertState.INCONCLUSIVE, why=flakiness.in_words(until))


def settle(*, series: Series) -> None:
    """End what was told as flaky and is not any more."""
    alert = _alerts(series).select_related("group", "series__benchmark", "series__config").first()
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
        recovery.close(alert=alert)
    else:
        _suspect(alert)


def _suspect(alert: Alert) -> None:
    why = f"It has failed {flakiness.SETTLED} times in a row: it is not flaky any more."
    describe(groups=[alert.group])
    if alert.group.state == AlertState.INCONCLUSIVE:
        triage.move(group=alert.group, to=AlertState.SUSPECTED, why=why)
    else:
        triage.record_event(group=alert.group, text=why)


def _alerts(series: Series) -> QuerySet[Alert]:
    """The alert of a series that tells that it is flaky."""
    return Alert.objects.filter(series=series, decision__flaky=True, group__state__in=_TOLD)
