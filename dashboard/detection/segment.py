"""A segment: the points of one level, and what is known of their noise.

    Learning ──fit──> Watching ──level change──> Learning (of the next segment)
                      │      ^
                      └─refit┘

`Learning` has points, but no noise model yet: nothing can be said of them. `Watching` has a model,
and runs the CUSUM tests and the drift's line on it. Both are values: `advance.py` has the
transitions, each one function that returns the next segment, and a level change if there is one.
"""

from dataclasses import dataclass, replace
from statistics import median
from typing import NamedTuple

from dashboard.detection.cusum import (
    NO_EVIDENCE,
    NO_RUNS,
    CusumTests,
    Evidence,
    Runs,
)
from dashboard.detection.drift import Line, Rise
from dashboard.detection.estimators import WINDOW
from dashboard.detection.habits import (
    FEWEST_POINTS,
    LONGER_THAN_BURST,
    MOST_OF_BURST,
)
from dashboard.detection.level_change import LevelChange
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.points import Point
from dashboard.detection.spread import NO_WIDENING, Widening
from dashboard.detection.value_scale import ValueScale

FIRST_FIT = 20
"""Points of a new series before it is judged."""
LEFT_OUT = 12
"""The newest points are left out of a fit where there are enough others: they may be the start of a
change.
"""
OWN_POINTS = 64
"""A new level's own points make its model when they are so many (or as many as the old model came
from).
"""
KEPT = WINDOW + LEFT_OUT
"""Points that a segment keeps: what a fit may need."""
LONGEST_BETWEEN_FITS = 48
BAR_AFTER_EXCURSION = 1.7
REMEMBERED = 2 * WINDOW
"""Points for which bursts are expected to come again."""


def next_fit(points: int) -> int:
    """After how many points of the segment the next fit is: a third more at first, 48 more later.

    A model of few points gains by each one; fitting costs more than scoring.
    """
    return points + min(max(points // 3, 1), LONGEST_BETWEEN_FITS)


@dataclass(frozen=True, slots=True)
class History:
    """The newest KEPT points of a segment.

    start: index in the series of the segment's first point.
    values: in the metric's unit. errors: standard error of each value within its job, 0 where it is
        not known.
    """

    start: int = 0
    values: tuple[float, ...] = ()
    errors: tuple[float, ...] = ()

    def plus(self, *points: Point) -> "History":
        """The history with more points."""
        values = (*self.values, *(point.value for point in points))
        errors = (*self.errors, *(point.standard_error for point in points))
        return History(self.start, values, errors).newest()

    def newest(self) -> "History":
        """The history with the newest KEPT points only."""
        return History(self.start, self.values[-KEPT:], self.errors[-KEPT:])

    def since(self, start: int, end: int) -> "History":
        """The points from `start` on; all of them where that is before the first.

        end: index after the newest point.
        """
        kept = min(end - start, len(self.values))
        return History(end - kept, self.values[-kept:], self.errors[-kept:])

    def until(self, index: int, end: int) -> "History":
        """The points before `index`. end: index after the newest point."""
        kept = len(self.values) - (end - index)
        return History(self.start, self.values[:kept], self.errors[:kept])


class Inherited(NamedTuple):
    """Knowledge that a segment has from the level before: how to read values, and their noise."""

    scale: ValueScale
    model: NoiseModel


class Excursions(NamedTuple):
    """Count of the times that a series left its level for a few points and came back, and the most
    points that it took. until: index of the point with which it was back the last time, however
    long it took.
    """

    times: int = 0
    longest: int = 0
    until: int = 0

    def plus(self, length: int, until: int) -> "Excursions":
        """With another one. What is long ago is forgotten."""
        if length > MOST_OF_BURST:
            return Excursions(self.times, self.longest, until)
        if until - self.until > REMEMBERED:
            return Excursions(1, length, until)
        return Excursions(self.times + 1, max(self.longest, length), until)

    def fewest(self, index: int) -> int:
        """Return how many points a new level needs, at the point `index`, to outlast these."""
        if not self.times or index - self.until > REMEMBERED:
            return FEWEST_POINTS
        return self.longest + LONGER_THAN_BURST

    def bar(self, index: int) -> float:
        """Return the factor on the required evidence: a series that came back may do so again."""
        if self.until and index - self.until <= OWN_POINTS:
            return BAR_AFTER_EXCURSION
        return 1.0


NO_EXCURSIONS = Excursions()


@dataclass(frozen=True, slots=True)
class Learning:
    """A segment without a noise model.

    next_fit: points after which it gets one. inherited: from the level before it, which is `left`
    as long as the series may go back to it.
    """

    history: History = History()
    next_fit: int = FIRST_FIT
    inherited: Inherited | None = None
    left: "Left | None" = None
    excursions: Excursions = NO_EXCURSIONS

    @property
    def level(self) -> float:
        """In the metric's unit; 0 before there is a point."""
        return median(self.history.values) if self.history.values else 0.0

    def is_fit_due(self, index: int) -> bool:
        """Test whether its noise is estimated before the point at `index` is judged."""
        # `history` may hold fewer points than the segment has: count from its start
        return index - self.history.start >= self.next_fit

    def plus(self, point: Point) -> "Learning":
        """The segment with one more point, of which nothing can be said."""
        return replace(self, history=self.history.plus(point))


NO_POINTS = Learning()


@dataclass(frozen=True, slots=True)
class Fit:
    """Estimates from the points of a segment, made again after every few of them.

    inherited: the model of the level before, from which this one may have its spread.
    usual_error: the median standard error of a point within its job, in percent.
    """

    scale: ValueScale
    model: NoiseModel
    inherited: NoiseModel | None
    usual_error: float
    threshold: float
    tests: CusumTests


@dataclass(frozen=True, slots=True)
class Watching:
    """A segment with a noise model, whose points are tested.

    line: through all its points. rise: of the line, when the model was fitted.
    runs, evidence: of the CUSUM tests, after the newest point. widening: of the noise, likewise.
    """

    history: History
    next_fit: int
    fit: Fit
    line: Line
    rise: Rise
    runs: Runs
    evidence: Evidence
    widening: Widening = NO_WIDENING
    left: "Left | None" = None
    excursions: Excursions = NO_EXCURSIONS

    @property
    def level(self) -> float:
        """In the metric's unit."""
        return self.fit.scale.value(self.fit.model.level)

    def is_fit_due(self, index: int) -> bool:
        """Test whether its noise is estimated again before the point at `index` is judged."""
        return index - self.history.start >= self.next_fit

    def plus(self, point: Point) -> "Watching":
        """The segment with one more point, which shows that there is no change."""
        return replace(
            self,
            history=self.history.plus(point),
            runs=NO_RUNS,
            evidence=NO_EVIDENCE,
            widening=NO_WIDENING,
        )


@dataclass(frozen=True, slots=True)
class Left:
    """The level that was left last, while the new one is young.

    segment: as it was before the change. index: of the first point of the new level, which is at
    `level` (a reading). total, length: log likelihood ratio and points of the best run that is back
    at the old one.
    """

    segment: Watching
    index: int
    level: float
    total: float = 0.0
    length: int = 0


Segment = Learning | Watching


def begin_next(segment: Segment, change: LevelChange, end: int) -> Learning:
    """The segment of the new level: its mean is unknown, its noise is believed to be the old one's.

    end: index after the newest point.
    """
    history = segment.history.since(change.starts, end)
    excursions = segment.excursions
    if isinstance(segment, Learning):
        model = segment.inherited
    else:
        model = Inherited(segment.fit.scale, segment.fit.model)
    # Noise in percent says nothing of readings that are no percentages, and the reverse
    if model is None or model.scale.unit != change.after.unit:
        return Learning(history)
    inherited = Inherited(change.after, model.model)
    return Learning(history, len(history.values), inherited, excursions=excursions)
