"""The way back from a young level to the one before it.

A new level is estimated from a few points, so that a step away from it takes long to show. But back
to the level that was left is not just any step: that level is well known, and so is the distance.
"""

from dataclasses import replace
from statistics import median

import numpy as np

from dashboard.detection.cusum import NO_EVIDENCE, NO_RUNS, REQUIRED, CusumTests, Evidence
from dashboard.detection.drift import NO_LINE
from dashboard.detection.habits import FEWEST_POINTS
from dashboard.detection.level_change import LevelChange, step_change
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.points import Point
from dashboard.detection.segment import History, Left, Segment, Watching
from dashboard.detection.spread import NO_WIDENING
from dashboard.detection.tables import EDGE, STEPS_PER_SCALE

WITHIN = 24
"""Points of the new level after which it is known well enough for the usual tests."""
BACK = 1 / 3
"""The run is back where its median is at most this share of the change from the old level."""


def after_point(left: Left, segment: Segment, point: Point) -> Left:
    """Return what is known of the way back after one more point.

    segment: of the new level, without the point.
    """
    fit = left.segment.fit
    values = segment.history.values
    # The points that first showed the level were its farthest: those that followed say where it is
    run = left.length if left.length >= FEWEST_POINTS else 0
    level = median(values[: max(len(values) - run, FEWEST_POINTS)])
    level, reading_before, reading = fit.scale.readings([level, values[-1], point.value]).tolist()
    left = replace(left, level=level)
    model = replace(fit.model, level=level)
    innovation = float(fit.tests.innovations(reading, reading_before, model=model))
    distance = (fit.model.level - left.level) / model.scale
    starts = _ratio(model, innovation, distance)
    goes_on = left.total + _ratio(model, innovation, distance * (1 - model.rho))
    if left.length and goes_on > starts:
        return replace(left, total=goes_on, length=left.length + 1)
    return replace(left, total=starts, length=1)


def _ratio(model: NoiseModel, innovation: float, step: float) -> float:
    """log f(e - step)/f(e), both in scales."""
    place = round(min(max(innovation * STEPS_PER_SCALE, -EDGE), EDGE))
    shift = round(min(max(step * STEPS_PER_SCALE, -EDGE), EDGE))
    table, centre = model.table, len(model.table) // 2
    return float(table[centre + place - shift] - table[centre + place])


def change_back(left: Left, segment: Segment, index: int, point: Point) -> LevelChange | None:
    """The way back that the newest point, at `index`, proves. segment: without that point."""
    fit = left.segment.fit
    share = left.total / (REQUIRED.base * fit.model.bar)
    if left.length < FEWEST_POINTS or share < 1:
        return None
    values = (*segment.history.values, point.value)
    readings = fit.scale.readings(values)
    distance = abs(float(np.median(readings[-left.length :])) - fit.model.level)
    if distance > BACK * abs(left.level - fit.model.level) or left.length >= len(values):
        return None
    points = float(max(index + 1 - left.length - left.index, 1))
    model = replace(fit.model, level=left.level, level_points=points)
    change = step_change(index, readings, Evidence(share, left.length), fit.scale, model)
    return replace(change, is_return=True)


def resumed(left: Left, segment: Segment, index: int, point: Point) -> Watching:
    """The old level's segment with the points that are back at it; the newest is at `index`."""
    old, returned = left.segment, segment.history.plus(point)
    count = left.length
    points_at_level = left.index - old.history.start + count
    history = History(
        index + 1 - points_at_level,
        old.history.values + returned.values[-count:],
        old.history.errors + returned.errors[-count:],
    )
    excursions = old.excursions.plus(index + 1 - count - left.index, index + 1 - count)
    model = replace(old.fit.model, bar=max(old.fit.model.bar, excursions.bar(index)))
    fewest = max(model.fewest, excursions.fewest(index))
    tests = CusumTests.of(model, old.fit.threshold, fewest)
    return replace(
        old,
        history=history.newest(),
        fit=replace(old.fit, model=model, tests=tests),
        line=NO_LINE,
        runs=NO_RUNS,
        evidence=NO_EVIDENCE,
        widening=NO_WIDENING,
        left=None,
        excursions=excursions,
    )
