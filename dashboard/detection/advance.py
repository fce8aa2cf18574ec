"""Advance a segment by one more point, and find the change of level that the point shows."""

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from dashboard.detection import way_back
from dashboard.detection.cusum import NO_EVIDENCE, NO_RUNS, Evidence, Runs
from dashboard.detection.drift import is_worth_reporting
from dashboard.detection.fitting import refitted
from dashboard.detection.level_change import LevelChange, step_change, wider_noise
from dashboard.detection.points import Point, Settings
from dashboard.detection.segment import (
    Inherited,
    Learning,
    Left,
    Segment,
    Watching,
    begin_next,
)
from dashboard.detection.spread import NO_WIDENING, SMALLEST_RATIO, Widening, spread_ratio
from dashboard.detection.tables import Floats
from dashboard.detection.usual_noise import UsualNoise


def advance(
    segment: Segment, index: int, point: Point, settings: Settings, usual: UsualNoise | None
) -> tuple[Segment, LevelChange | None]:
    """The segment after the point at `index`, and the change that it shows.

    1. Where a fit is due, the noise is estimated, without the new point; that may prove a drift, or
       a step at the beginning.
    2. The new point may prove that the series is back at the level that it left last.
    3. The new point is tested; that may prove a step, or a wider noise.

    usual: noise that a young series borrows.
    """
    change = None
    if segment.is_fit_due(index):
        segment, change = refitted(segment, index, settings, usual)
    if segment.left is not None:
        segment, back = _on_the_way_back(segment, segment.left, index, point)
        if back is not None:
            return segment, back
    if isinstance(segment, Learning):
        return segment.plus(point), change
    segment, step = _tested(segment, index, point)
    # A segment that a drift began has no run that is long enough for a step
    return segment, change or step


def _on_the_way_back(
    segment: Segment, left: Left, index: int, point: Point
) -> tuple[Segment, LevelChange | None]:
    """The segment with what the point says of the level that was left; that one, if it is back."""
    if index - left.index >= way_back.WITHIN:
        return replace(segment, left=None), None
    left = way_back.after_point(left, segment, point)
    change = way_back.change_back(left, segment, index, point)
    if change is None:
        return replace(segment, left=left), None
    return way_back.resumed(left, segment, index, point), change


def _tested(segment: Watching, index: int, point: Point) -> tuple[Segment, LevelChange | None]:
    """The segment after a point has been tested, and what it proves: a step, or a wider noise."""
    tested = _after(segment, [point], _tests_of(segment, [point]))
    if tested.widening.is_proven(tested.fit.model, tested.evidence.nats):
        return _wider(tested, index)
    if tested.evidence.share < 1 or tested.widening.explains(tested.evidence.nats):
        return tested, None
    values = (*segment.history.values, point.value)  # one more than a segment keeps
    step = _step(segment, index, values, tested.evidence)
    # One that is not starts the tests again: its evidence would come back with each later point
    if is_worth_reporting(step.effect, segment.rise, segment.fit.threshold):
        return _left(tested, step, index + 1), step
    return replace(tested, runs=NO_RUNS, evidence=NO_EVIDENCE), None


def passed(segment: Watching, points: Sequence[Point]) -> tuple[Watching, int]:
    """The segment after those of the points that show no change, and how many these are: as
    `advance` has it point by point. No fit may be due among them.
    """
    if not points:
        return segment, 0
    tests = _tests_of(segment, points)
    count = 0
    for evidence, widening in zip(tests.evidence, tests.widening, strict=True):
        is_wider = widening.is_proven(segment.fit.model, evidence.nats)
        if is_wider or evidence.share >= 1:
            break
        count += 1
    return (_after(segment, points[:count], tests) if count else segment), count


def _left(segment: Watching, step: LevelChange, end: int) -> Learning:
    """The segment of the level after a step, which may be left again for the old one."""
    old = replace(segment, history=segment.history.until(step.starts, end), left=None)
    level = float(segment.fit.scale.readings([step.level_after])[0])
    return replace(begin_next(segment, step, end), left=Left(old, step.starts, level))


def _wider(segment: Watching, index: int) -> tuple[Segment, LevelChange | None]:
    """The segment of the wider noise, which begins with the run that shows it."""
    fit, count = segment.fit, segment.widening.length
    readings = fit.scale.readings(segment.history.values[-count - 1 :])
    innovations = fit.tests.innovations(readings[1:], readings[:-1])
    ratio = spread_ratio(innovations)
    if ratio < SMALLEST_RATIO:
        return replace(segment, widening=NO_WIDENING), None
    change = wider_noise(index + 1 - count, ratio, segment.widening, fit.scale, fit.model)
    model = replace(
        fit.model,
        scale=fit.model.scale * ratio,
        deviation=fit.model.deviation * ratio,
        points=float(count),
        level_points=float(count),
    )
    history = segment.history.since(change.starts, index + 1)
    inherited = Inherited(fit.scale, model)
    wider = Learning(history, len(history.values), inherited, excursions=segment.excursions)
    return wider, change


class _Tests(NamedTuple):
    """Tests after each of some points. readings: (points,). runs: (TESTS, points)."""

    readings: Floats
    runs: Runs
    evidence: list[Evidence]
    widening: list[Widening]


def _tests_of(segment: Watching, points: Sequence[Point]) -> _Tests:
    """The CUSUM tests of the next points."""
    fit, tests = segment.fit, segment.fit.tests
    values = [segment.history.values[-1], *(point.value for point in points)]
    readings = fit.scale.readings(values)

    # The within-job error in excess of the usual one: that one is in the model already
    errors = fit.scale.standard_errors([point.standard_error for point in points])
    excess = np.sqrt(np.maximum(errors * errors - fit.usual_error * fit.usual_error, 0.0))

    innovations = tests.innovations(readings[1:], readings[:-1], excess)
    starts, goes_on = tests.log_ratios(innovations)
    runs = segment.runs.after_each(starts, goes_on)
    widening = segment.widening.after_each(innovations, tests.wider_ratios)
    return _Tests(readings[1:], runs, tests.evidence(runs, goes_on), widening)


def _after(segment: Watching, points: Sequence[Point], tests: _Tests) -> Watching:
    """The segment after the points, the first ones of those that have been tested."""
    newest = len(points) - 1
    line = segment.line
    if line.count:
        line = line.with_readings(tests.readings[: len(points)], segment.fit.model)
    return replace(
        segment,
        history=segment.history.plus(*points),
        line=line,
        runs=tests.runs.at(newest),
        evidence=tests.evidence[newest],
        widening=tests.widening[newest],
    )


def _step(
    segment: Watching, index: int, values: tuple[float, ...], evidence: Evidence
) -> LevelChange:
    """The step that there is evidence of. values: the last one is at `index`."""
    readings = segment.fit.scale.readings(values)
    return step_change(index, readings, evidence, segment.fit.scale, segment.fit.model)
