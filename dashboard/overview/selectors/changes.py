"""Changes since a person last looked: alerts, the weightiest first, and the chart of one."""

from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.alerts.selectors import alert_data, alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.selectors.reversals import (
    LaterChange,
    reversal_in_list,
    with_later_changes,
)
from dashboard.alerts.selectors.variants import settings_of_variant
from dashboard.models import Alert, AlertGroup
from dashboard.overview.core.change_drawing import ChangeDrawing, draw


@dataclass(frozen=True, slots=True)
class DrawnChange:
    """The alert whose change is drawn."""

    group: AlertGroup
    summary: AlertSummary
    drawing: ChangeDrawing


@dataclass(frozen=True, slots=True)
class ListedAlert:
    """A group with the alert that stands for it, None where it has none; and what undid that.

    setting: what its new build sets and the base does not, where it is a variant.
    """

    group: AlertGroup
    main: AlertSummary | None
    reversal: LaterChange | None
    setting: str


def listed_alerts(groups: Sequence[AlertGroup]) -> list[ListedAlert]:
    """One query."""
    if not groups:
        return []
    by_group: dict[int, list[AlertSummary]] = {group.pk: [] for group in groups}
    of_groups = Alert.objects.filter(group__in=by_group)
    for summary in alerts.summaries_of(with_later_changes(of_groups)):
        by_group[summary.alert.group_id].append(summary)
    listed = []
    for group in groups:
        main = alerts.main_of(by_group[group.pk])
        reversal = reversal_in_list(main.alert) if main else None
        listed.append(ListedAlert(group, main, reversal, settings_of_variant(group)))
    return listed


def drawn_change(listed: Sequence[ListedAlert]) -> DrawnChange | None:
    """Draw the change of the first alert; None where it has no points. Three queries."""
    if not listed or listed[0].main is None:
        return None
    group, first = listed[0].group, listed[0].main
    step = alert_data.step_of(first.alert)
    line = alert_data.line_around(first.alert.series, step)
    if line is None:
        return None
    drawing = draw(line, step, first.metric)
    return DrawnChange(group, first, drawing) if drawing else None
