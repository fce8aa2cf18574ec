"""The changes that the detector finds in the made-up history of services/generated.py."""

from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np

from dashboard.detection import OnlineDetector, Point, Settings, Verdict
from dashboard.language.metrics import METRICS
from dashboard.models import Direction, Series
from dashboard.results.selectors.trend import TrendSeries
from dashboard.ui.charts import ChartLine

JUDGED = ("latency_ms", "cold_start_s", "peak_memory_gb")
MOST_SERIES = 200  # a larger history is for speed, not for more alerts


@dataclass(frozen=True, slots=True)
class GeneratedChange:
    """A change of one series, and what an alert needs of it.

    index: of the first point of the new level, among all data of the line.
    points: what the detector had read when it reported the change; their positions are such
        indices, too.
    """

    series: Series
    line: ChartLine
    verdict: Verdict
    index: int
    points: tuple[Point, ...]

    @property
    def at(self) -> datetime:
        return self.moment(self.index)

    def moment(self, index: int) -> datetime:
        """When the datum of the line was measured."""
        return datetime.fromtimestamp(self.line.at_ms[index] / 1000, UTC)

    @property
    def effect(self) -> float:
        return self.verdict.effect or 0.0

    @property
    def eager(self) -> bool:
        return self.series.config.name == "eager"

    @property
    def base(self) -> str:
        return self.line.build[max(self.index - 1, 0)]

    @property
    def new(self) -> str:
        return self.line.build[self.index]

    @property
    def direction(self) -> Direction:
        worse = (self.effect > 0) == METRICS[self.series.metric].lower_is_better
        return Direction.REGRESSION if worse else Direction.IMPROVEMENT


def judged_changes(machine: str) -> list[GeneratedChange]:
    """Every change that the detector finds at a new build; the generated outliers are left
    aside.
    """
    chosen = Series.objects.filter(machine__key=machine, metric__in=JUDGED, count__gt=0)
    changes = []
    for series in chosen.select_related("benchmark", "config", "machine", "track").order_by("pk")[
        :MOST_SERIES
    ]:
        for line in TrendSeries([series]).lines([series]):
            in_line = _changes(series, line)
            changes += [change for change in in_line if change.base != change.new]
    return changes


def _changes(series: Series, line: ChartLine) -> list[GeneratedChange]:
    """What the detector reports of a line, of changes that begin at one point the last."""
    detector = OnlineDetector(detector_settings(series.metric))
    points: list[Point] = []
    by_index = {}
    for place in np.flatnonzero(~np.isnan(line.value)).tolist():
        low, high = (
            None if np.isnan(end) else float(end) for end in (line.low[place], line.high[place])
        )
        points.append(Point(float(line.value[place]), low, high, place))
        verdict = detector.update(points[-1])
        if verdict.state == "changed" and verdict.index is not None:
            index = points[verdict.index].position
            by_index[index] = GeneratedChange(series, line, verdict, index, tuple(points))
    return list(by_index.values())


def detector_settings(metric: str) -> Settings:
    return Settings(METRICS[metric].threshold_percent, "continuous")
