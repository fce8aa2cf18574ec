"""What changed since a person last looked: alerts, the weightiest first, and the chart of one."""

from dataclasses import dataclass

from dashboard.alerts.selectors import alert_data, alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.models import AlertGroup
from dashboard.overview.core.change_drawing import ChangeDrawing, draw


@dataclass(frozen=True, slots=True)
class DrawnChange:
    """The alert whose change is drawn."""

    group: AlertGroup
    summary: AlertSummary
    drawing: ChangeDrawing


def drawn_change(groups: list[AlertGroup]) -> DrawnChange | None:
    """Of the first; None where it has no points. Four queries."""
    summaries = alerts.of_group(groups[0]) if groups else []
    if not summaries:
        return None
    group, first = groups[0], summaries[0]
    step = alert_data.step_of(first.alert)
    line = alert_data.line_around(first.alert.series, step)
    if line is None:
        return None
    drawing = draw(line, step, first.metric)
    return DrawnChange(group, first, drawing) if drawing else None
