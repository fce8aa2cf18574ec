"""The chart of one change as a small drawing that needs no script: where each mark stands. Pure.

Marks stand one after the other, not by time: what a change looks like is a question of the points,
and nights without a measurement would squeeze them.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from dashboard.alerts.core.alert_charts import Step, median_after, median_before
from dashboard.language.metrics import Metric
from dashboard.language.wording import quantity
from dashboard.ui.charts import ChartLine

WIDTH, HEIGHT = 560, 200
_LEFT, _RIGHT, _TOP, _BOTTOM = 8, 8, 14, 14
_MOST_BEFORE, _MOST_AFTER = 30, 20


@dataclass(frozen=True, slots=True)
class Mark:
    """One measurement. x, y: of the drawing. is_after: of the new level."""

    x: float
    y: float
    is_after: bool


@dataclass(frozen=True, slots=True)
class DrawnLevel:
    """The median on one side of the change, from x to end."""

    x: float
    end: float
    y: float
    text: str


@dataclass(frozen=True, slots=True)
class ChangeDrawing:
    """edge: x of the change. last: when the last mark was measured."""

    marks: list[Mark]
    before: DrawnLevel
    after: DrawnLevel
    edge: float
    last: datetime


def draw(line: ChartLine, step: Step, metric: Metric) -> ChangeDrawing | None:
    """None where one side of the change has no point."""
    level_before, level_after = median_before(line, step), median_after(line, step)
    if level_before is None or level_after is None:
        return None
    count_before = int((line.at_ms < step.at_ms).sum())
    start = max(count_before - _MOST_BEFORE, 0)
    end = min(count_before + _MOST_AFTER, len(line.value))
    values = line.value[start:end]
    count_before -= start

    low = min(float(np.min(values)), level_before, level_after)
    high = max(float(np.max(values)), level_before, level_after)
    height = HEIGHT - _TOP - _BOTTOM
    scale = height / ((high - low) or abs(high) or 1.0)
    apart = (WIDTH - _LEFT - _RIGHT) / len(values)

    def y_of(value: float) -> float:
        return round(HEIGHT - _BOTTOM - (value - low) * scale, 1)

    marks = []
    for place, value in enumerate(values.tolist()):
        x = round(_LEFT + (place + 0.5) * apart, 1)
        marks.append(Mark(x, y_of(value), place >= count_before))
    edge = round(_LEFT + count_before * apart, 1)
    return ChangeDrawing(
        marks,
        DrawnLevel(_LEFT, edge, y_of(level_before), quantity(metric, level_before)),
        DrawnLevel(edge, WIDTH - _RIGHT, y_of(level_after), quantity(metric, level_after)),
        edge,
        datetime.fromtimestamp(int(line.at_ms[end - 1]) / 1000, UTC),
    )
