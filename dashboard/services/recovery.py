"""Closes what went away: a change that takes a series back to the level before an alert is that alert's end.

It is not told as an improvement of its own: nothing got better than it had been.
"""

from statistics import median

from dashboard.models import Alert, AlertState, Direction, Kind
from dashboard.services import triage
from dashboard.services.changes import Change
from dashboard.services.describing import describe

BACK = 1 / 3
"""The new level is back when it is no further from the old one than this share of the alert's change."""
LEVEL_POINTS = 20


def undoes(*, change: Change) -> bool:
    """Whether the change undoes a regression that was told of its series; its alert, and maybe its group, then end."""
    if change.direction != Direction.IMPROVEMENT:
        return False
    earlier = Alert.objects.filter(series=change.series, planned_at__lt=change.first.at).order_by("-planned_at")
    alert = earlier.select_related("group").first()
    if alert is None or alert.direction != Direction.REGRESSION:
        return False
    if alert.recovered_at is not None:  # known already, where the series is judged anew
        return alert.recovered_at == change.first.at
    if not _is_back(alert, change):
        return False
    alert.recovered_at = change.first.at
    alert.save(update_fields=["recovered_at"])
    close(alert=alert)
    return True


def _is_back(alert: Alert, change: Change) -> bool:
    if alert.kind == Kind.STATUS:
        return change.first.status == "pass"
    values, index = [value for value, *_ in alert.decision["points"]], alert.decision["verdict"]["index"]
    now = [value for value, *_ in change.decision["points"]][change.decision["verdict"]["index"] :]
    old, bad, new = median(values[:index][-LEVEL_POINTS:]), median(values[index:]), median(now)
    return bool(abs(new - old) <= BACK * abs(bad - old))


def close(*, alert: Alert) -> None:
    """The group recovers with the last of its regressions."""
    group = alert.group
    still = group.alerts.filter(recovered_at=None).exclude(direction=Direction.IMPROVEMENT).exists()
    if still or AlertState.RECOVERED not in triage.possible(group=group, person=False):
        where = f"{alert.series.metric} of {alert.series.benchmark} in {alert.series.config}"
        triage.tell(group=group, text=f"{where} is back at the level before.")
        describe(groups=[group])
        return
    triage.move(group=group, to=AlertState.RECOVERED, why="Measured: every series is back at the level before.")
