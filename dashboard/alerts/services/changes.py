"""A change of level, as the detector told it of a series: what alerts are made of."""

from dataclasses import dataclass
from typing import Any

from dashboard.detection import Verdict
from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.models import Direction, Kind, Series
from dashboard.results.core.series_points import SeriesPoint


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level that the detector told.

    before, first: the data on either side of it; seen: the datum with which the detector was sure.
    """

    series: Series
    verdict: Verdict
    before: SeriesPoint
    first: SeriesPoint
    seen: SeriesPoint
    decision: dict[str, Any]

    @property
    def kind(self) -> Kind:
        if self.series.metric == STATUS_METRIC:
            return Kind.STATUS
        return Kind.DRIFT if self.verdict.cause == "drift" else Kind.STEP

    @property
    def direction(self) -> Direction:
        """Better or worse; neutral between two ways of failing."""
        if self.kind == Kind.STATUS:
            passes = [one.status == "pass" for one in (self.before, self.first)]
            if passes[0] == passes[1]:
                return Direction.NEUTRAL
            return Direction.IMPROVEMENT if passes[1] else Direction.REGRESSION
        worse = ((self.verdict.effect or 0) > 0) == METRICS[self.series.metric].lower_is_better
        return Direction.REGRESSION if worse else Direction.IMPROVEMENT
