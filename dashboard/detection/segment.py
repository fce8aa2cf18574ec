"""A segment: the points of one level, and what is known of their noise.

    Learning ──fit──> Watching ──level change──> Learning (of the next segment)
                      │      ^
                      └─refit┘

`Learning` has points, but no noise model yet: nothing can be said of them. `Watching` has a model,
and runs the CUSUM tests and the drift's line on it. Both are values: each transition is one
function that returns the next segment, and a level change if there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from math import sqrt
from typing import NamedTuple

import numpy as np

from dashboard.detection.cusum import (
    NO_EVIDENCE,
    NO_RUNS,
    REQUIRED,
    CusumTests,
    Evidence,
    Runs,
)
from dashboard.detection.drift import NO_LINE, Line, Rise, is_worth_reporting
from dashboard.detection.estimators import WINDOW
from dashboard.detection.level_change import LevelChange, drift_change, step_change
from dashboard.detection.noise_model import NoiseModel, fit_noise_model, with_new_level
from dashboard.detection.points import Point, Settings
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

    def plus(self, point: Point) -> "History":
        """The history with one more point."""
        values = (*self.values, point.value)
        errors = (*self.errors, point.standard_error)
        return History(self.start, values[-KEPT:], errors[-KEPT:])

    def since(self, start: int, end: int) -> "History":
        """The points from `start` on; all of them where that is before the first.

        end: index after the newest point.
        """
        kept = min(end - start, len(self.values))
        return History(end - kept, self.values[-kept:], self.errors[-kept:])


class Inherited(NamedTuple):
    """What a segment knows from the level before it: how to read values, and their noise."""

    scale: ValueScale
    model: NoiseModel


@dataclass(frozen=True, slots=True)
class Learning:
    """A segment without a noise model. next_fit: points after which it gets one."""

    history: History = History()
    next_fit: int = FIRST_FIT
    inherited: Inherited | None = None

    def plus(self, point: Point) -> "Learning":
        """The segment with one more point, of which nothing can be said."""
        return replace(self, history=self.history.plus(point))


NO_POINTS = Learning()


@dataclass(frozen=True, slots=True)
class Fit:
    """What is estimated from the points of a segment, again after every few of them.

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
    runs, evidence: of the CUSUM tests, after the newest point.
    """

    history: History
    next_fit: int
    fit: Fit
    line: Line
    rise: Rise
    runs: Runs
    evidence: Evidence

    def plus(self, point: Point) -> "Watching":
        """The segment with one more point, which shows that there is no change."""
        return replace(self, history=self.history.plus(point), runs=NO_RUNS, evidence=NO_EVIDENCE)


Segment = Learning | Watching


def advance(
    segment: Segment, index: int, point: Point, settings: Settings
) -> tuple[Segment, LevelChange | None]:
    """The segment after the point at `index`, and the change of level that it shows.

    1. Where a fit is due, the noise is estimated, without the new point; that may prove a drift.
    2. The new point is tested; that may prove a step.
    """
    drift = None
    # `history` may hold fewer points than the segment has: count from its start
    if index - segment.history.start >= segment.next_fit:
        segment, drift = _refitted(segment, index, settings)
    if isinstance(segment, Learning):
        return segment.plus(point), drift
    segment, step = _tested(segment, index, point)
    # A segment that a drift began has no run that is long enough for a step
    return segment, drift or step


def suspected_step(segment: Segment, index: int) -> LevelChange | None:
    """The step that the newest point, at `index`, makes likely but does not prove."""
    if isinstance(segment, Learning) or segment.evidence.share < REQUIRED.suspected:
        return None
    return _step(segment, index, segment.history.values, segment.evidence)


def begin_next(segment: Segment, change: LevelChange, end: int) -> Learning:
    """The segment of the new level: its mean is unknown, its noise is believed to be the old one's.

    end: index after the newest point.
    """
    history = segment.history.since(change.starts, end)
    if isinstance(segment, Learning):
        model = segment.inherited
    else:
        model = Inherited(segment.fit.scale, segment.fit.model)
    # Noise in percent says nothing of readings that are no percentages, and the reverse
    if model is None or model.scale.unit != change.after.unit:
        return Learning(history)
    return Learning(history, len(history.values), Inherited(change.after, model.model))


def _refitted(
    segment: Segment, index: int, settings: Settings
) -> tuple[Watching, LevelChange | None]:
    """The segment with a new model; of the level that was reached, if the old one has drifted."""
    fitted = _fitted(segment, index, settings)
    points, fit = fitted.line.count, fitted.fit
    if not fitted.rise.is_drift(points, fit.threshold):
        return fitted, None
    start = fitted.history.start
    drift = drift_change(index, start, fitted.rise, fit.threshold, fit.scale, fit.model)
    return _fitted(begin_next(fitted, drift, end=index), index, settings), drift


def _fitted(segment: Segment, index: int, settings: Settings) -> Watching:
    """The segment with a model of its points, which end before `index`."""
    history = segment.history
    points = index - history.start
    left_out = min(max(points - FIRST_FIT, 0), LEFT_OUT)
    inherited: NoiseModel | None = None
    line, runs, evidence = NO_LINE, NO_RUNS, NO_EVIDENCE
    if isinstance(segment, Watching):
        # The scale stays as it is while the level does, so that readings can be compared
        scale, inherited = segment.fit.scale, segment.fit.inherited
        line, runs, evidence = segment.line, segment.runs, segment.evidence
    elif segment.inherited is not None:
        scale, inherited = segment.inherited
    else:
        reference = float(np.median(history.values[:FIRST_FIT]))
        scale = ValueScale(reference, settings.kind == "count")

    readings = scale.readings(history.values).tolist()
    model = _model(_newest(readings, left_out), inherited, scale.smallest_noise(settings))
    # The line begins late, because readings are clipped around the level; then it has all points
    if line.count == 0 and points >= FIRST_FIT:
        for reading in readings:
            line = line.with_reading(reading, model)

    threshold = scale.threshold(settings)
    usual_error = 0.0
    if any(errors := _newest(history.errors, left_out)):
        usual_error = float(np.median([scale.standard_error(error) for error in errors]))
    tests = CusumTests.of(model, threshold)
    return Watching(
        history=history,
        next_fit=next_fit(points),
        fit=Fit(scale, model, inherited, usual_error, threshold, tests),
        line=line,
        rise=line.rise(model),
        runs=runs,
        evidence=evidence,
    )


def _newest(numbers: Sequence[float], left_out: int) -> Sequence[float]:
    """The newest WINDOW of the points, but for the last `left_out`."""
    return numbers[: len(numbers) - left_out][-WINDOW:]


def _model(
    readings: Sequence[float], inherited: NoiseModel | None, smallest_noise: float
) -> NoiseModel:
    """The model of the readings: with the inherited spread until they are enough."""
    # Always of the same length, whatever the points: sums are then added in the same order
    window = np.full(WINDOW, np.nan)
    window[WINDOW - len(readings) :] = readings
    if inherited is not None and len(readings) < min(OWN_POINTS, inherited.points):
        return with_new_level(inherited, window)
    return fit_noise_model(window, smallest_noise)


def _tested(segment: Watching, index: int, point: Point) -> tuple[Segment, LevelChange | None]:
    """The segment after a point has been tested, and the step that it proves."""
    tested = _with_tests_of(segment, point)
    if tested.evidence.share < 1:
        return tested, None
    values = (*segment.history.values, point.value)  # one more than a segment keeps
    step = _step(segment, index, values, tested.evidence)
    # One that is not starts the tests again: its evidence would come back with each later point
    if is_worth_reporting(step.effect, segment.rise, segment.fit.threshold):
        return begin_next(tested, step, end=index + 1), step
    return replace(tested, runs=NO_RUNS, evidence=NO_EVIDENCE), None


def _with_tests_of(segment: Watching, point: Point) -> Watching:
    """The segment with one more point in its CUSUM tests and in its line."""
    fit, tests = segment.fit, segment.fit.tests
    before = fit.scale.reading(segment.history.values[-1])
    reading = fit.scale.reading(point.value)

    # The within-job error in excess of the usual one: that one is in the model already
    error = fit.scale.standard_error(point.standard_error)
    excess = sqrt(max(error * error - fit.usual_error * fit.usual_error, 0.0))

    innovations = tests.innovations(reading, before, excess)
    starts, goes_on = tests.log_ratios(innovations)
    runs = segment.runs.extended(starts, goes_on)
    line = segment.line
    if line.count:
        line = line.with_reading(reading, fit.model)
    return replace(
        segment,
        history=segment.history.plus(point),
        line=line,
        runs=runs,
        evidence=tests.evidence(runs),
    )


def _step(
    segment: Watching, index: int, values: tuple[float, ...], evidence: Evidence
) -> LevelChange:
    """The step that there is evidence of. values: the last one is at `index`."""
    readings = segment.fit.scale.readings(values)
    return step_change(index, readings, evidence, segment.fit.scale, segment.fit.model)
