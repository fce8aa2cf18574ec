"""A change of level, as the detector reported it for a series: what alerts are made of."""

from dataclasses import dataclass
from typing import Any

from dashboard.detection import Verdict
from dashboard.language.metrics import STATUS_METRIC
from dashboard.language.wording import metric_of
from dashboard.models import Direction, Kind, Series
from dashboard.results.core.series_points import SeriesPoint


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A change of level that the detector reported.

    before, first: the data on either side of it.
    seen: the datum with which the detector was sure.
    decision: what `manage.py replay_alert` needs to decide again.
    is_old: too long ago to be news, or judged before by another version of the detector.
    """

    series: Series
    verdict: Verdict
    before: SeriesPoint
    first: SeriesPoint
    seen: SeriesPoint
    decision: dict[str, Any]
    is_old: bool = False

    @property
    def kind(self) -> Kind:
        if self.series.metric == STATUS_METRIC:
            return Kind.STATUS
        return Kind.DRIFT if self.verdict.cause == "drift" else Kind.STEP

    @property
    def direction(self) -> Direction:
        """Better or worse; neutral between two ways of failing."""
        if self.kind == Kind.STATUS:
            is_worse = self.first.status != "pass"
            if is_worse == (self.before.status != "pass"):
                return Direction.NEUTRAL
        else:
            rose = self.verdict.effect > 0
            is_worse = rose == metric_of(self.series.metric).lower_is_better
        return Direction.REGRESSION if is_worse else Direction.IMPROVEMENT
