"""Changes that the detector would have reported under other settings, from stored histories."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from dashboard.alerts.core.history_replay import (
    Differences,
    ReportedChange,
    changes_of,
    differences,
)
from dashboard.alerts.selectors.evidence import ALERTING
from dashboard.detection import Settings
from dashboard.language.metrics import STATUS_METRIC
from dashboard.language.wording import metric_of
from dashboard.models import Alert, EvidenceState, Series, WorkflowState
from dashboard.results.core.series_points import settings_of
from dashboard.results.selectors import history

RIGHT, WRONG, UNDECIDED, NO_ALERT = "right", "wrong", "undecided", "no alert"


@dataclass(frozen=True, slots=True)
class SeriesReplay:
    """One series under the settings of today (first) and the others (second).

    outcomes: what became of the alert about a change, by the change's position.
    """

    series: Series
    points: int
    changes: Differences
    outcomes: Mapping[int, str]


def replay_all(
    *, since: datetime, settings: Mapping[str, float], metric: str = "", machine: str = ""
) -> Iterator[SeriesReplay]:
    """Each series that can alert. The history is read from its first datum; only changes that were
    seen since a moment count.

    settings: what is other than today, by the name of the field of detection.Settings.
    """
    related = Series.objects.select_related("benchmark", "config", "machine", "track")
    chosen = related.filter(metric__in=ALERTING, count__gt=0).exclude(metric=STATUS_METRIC)
    if metric:
        chosen = chosen.filter(metric=metric)
    if machine:
        chosen = chosen.filter(machine__key=machine)
    for series in chosen.order_by("pk").iterator():
        yield _replay(series, since, settings)


def _replay(series: Series, since: datetime, settings: Mapping[str, float]) -> SeriesReplay:
    readings = history.readings(series)
    own = settings_of(metric_of(series.metric))
    other = replace(own, **settings)  # type: ignore[arg-type]  # numbers, checked by Settings
    per_build = history.is_per_build(series.track)

    def reported(settings: Settings) -> list[ReportedChange]:
        changes = changes_of(readings, series.metric, per_build, settings)
        return [change for change in changes if change.seen_at >= since]

    changes = differences(reported(own), reported(other))
    outcomes = _outcomes(series, [*changes.both, *changes.only_first, *changes.only_second])
    return SeriesReplay(series, len(readings), changes, outcomes)


def _outcomes(series: Series, changes: list[ReportedChange]) -> dict[int, str]:
    alerts = list(Alert.objects.filter(series=series).select_related("group")) if changes else []
    outcomes: dict[int, str] = {}
    for change in changes:
        # The alert's first point may have been moved to a change of build nearby
        last = change.seen_at + timedelta(milliseconds=1)
        about = [alert for alert in alerts if change.at <= alert.seen_at <= last]
        outcomes[change.position] = _outcome(about[-1]) if about else NO_ALERT
    return outcomes


def _outcome(alert: Alert) -> str:
    """Right, wrong or undecided: people's answer counts before the confirmation."""
    answer = alert.group.workflow_state
    if answer == WorkflowState.INVALID or alert.confirmation == EvidenceState.NOT_REPRODUCED:
        return WRONG
    said_to_be_real = answer in (WorkflowState.FIXED, WorkflowState.WONTFIX)
    if said_to_be_real or alert.confirmation == EvidenceState.CONFIRMED:
        return RIGHT
    return UNDECIDED
