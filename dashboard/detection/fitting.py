"""Estimates from the points of a segment: its noise, and a drift, or a step at its beginning, that
no test of single points can see.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dashboard.detection import hindsight
from dashboard.detection.cusum import NO_EVIDENCE, NO_RUNS, CusumTests
from dashboard.detection.drift import NO_LINE, Line, is_worth_reporting
from dashboard.detection.estimators import WINDOW
from dashboard.detection.habits import FEWEST_IF_ROUNDED
from dashboard.detection.level_change import LevelChange, drift_change, split_change
from dashboard.detection.noise_model import NoiseModel, fit_noise_model, with_new_level
from dashboard.detection.points import Settings
from dashboard.detection.segment import (
    FIRST_FIT,
    LEFT_OUT,
    OWN_POINTS,
    Fit,
    History,
    Learning,
    Segment,
    Watching,
    begin_next,
    next_fit,
)
from dashboard.detection.spread import NO_WIDENING
from dashboard.detection.usual_noise import UsualNoise
from dashboard.detection.value_scale import ValueScale


def refitted(
    segment: Segment, index: int, settings: Settings, usual: UsualNoise | None
) -> tuple[Segment, LevelChange | None]:
    """The segment with a new model; of the level that was reached, if the old one has drifted or
    had a step at its beginning.
    """
    watching = fitted(segment, index, settings, usual)
    points, fit = watching.line.count, watching.fit
    if watching.rise.is_drift(points, fit.threshold):
        start = watching.history.start
        drift = drift_change(index, start, watching.rise, fit.threshold, fit.scale, fit.model)
        return fitted(begin_next(watching, drift, end=index), index, settings, usual), drift

    step = _step_in_hindsight(watching, index, settings, usual)
    if step is None:
        return watching, None
    # Its noise was estimated across the step: it is learnt again
    later = Learning(watching.history.since(step.starts, index))
    if index - step.starts >= FIRST_FIT:
        return fitted(later, index, settings, usual), step
    return later, step


def _step_in_hindsight(
    segment: Watching, index: int, settings: Settings, usual: UsualNoise | None
) -> LevelChange | None:
    history, fit = segment.history, segment.fit
    if fit.inherited is not None or not FIRST_FIT <= index - history.start <= hindsight.UNTIL:
        return None
    readings = fit.scale.readings(history.values)
    smallest_noise = max(fit.scale.smallest_noise(settings), tick(readings.tolist()) / 2)
    errors = fit.scale.standard_errors(history.errors)
    beyond = np.sqrt(np.maximum(np.square(errors) - fit.usual_error**2, 0.0))
    split = hindsight.best_split(readings, beyond, smallest_noise, usual)
    if split is None or split.share < 1:
        return None
    if not is_worth_reporting(split.after - split.before, segment.rise, fit.threshold):
        return None
    return split_change(history.start + split.first, split, fit.scale)


def fitted(segment: Segment, index: int, settings: Settings, usual: UsualNoise | None) -> Watching:
    """The segment with a model of its points, which end before `index`."""
    history = segment.history
    points = index - history.start
    left_out = min(max(points - FIRST_FIT, 0), LEFT_OUT)
    inherited: NoiseModel | None = None
    runs, evidence, widening = NO_RUNS, NO_EVIDENCE, NO_WIDENING
    if isinstance(segment, Watching):
        # The scale stays as it is while the level does, so that readings can be compared
        scale, inherited = segment.fit.scale, segment.fit.inherited
        runs, evidence, widening = segment.runs, segment.evidence, segment.widening
    elif segment.inherited is not None:
        scale, inherited = segment.inherited
    else:
        scale = _first_scale(history, settings)

    readings = scale.readings(history.values).tolist()
    threshold = scale.threshold(settings)
    window = newest(readings, left_out)
    if scale.unit == "difference":  # roots of counts have noise of their own
        usual = None
    model = _model(window, inherited, scale.smallest_noise(settings), usual)
    model = replace(model, bar=max(model.bar, segment.excursions.bar(index)))
    fewest = max(model.fewest, segment.excursions.fewest(index))
    tests = CusumTests.of(model, threshold, fewest)
    line = _line(segment, points, readings, model)
    return Watching(
        history=history,
        next_fit=next_fit(points),
        fit=Fit(scale, model, inherited, _usual_error(history, left_out, scale), threshold, tests),
        line=line,
        rise=line.rise(model),
        runs=runs,
        evidence=evidence,
        widening=widening,
        left=segment.left,
        excursions=segment.excursions,
    )


def _line(segment: Segment, points: int, readings: list[float], model: NoiseModel) -> Line:
    """The line through the segment's readings, which goes on or begins."""
    line = NO_LINE
    # Around another level the readings were clipped otherwise
    if isinstance(segment, Watching) and (segment.fit.model.has_two_modes == model.has_two_modes):
        line = segment.line
    # It begins late, because readings are clipped around the level; then it has all points
    if line.count == 0 and points >= FIRST_FIT:
        line = line.with_readings(np.array(readings), model)
    return line


def _first_scale(history: History, settings: Settings) -> ValueScale:
    reference = float(np.median(history.values[:FIRST_FIT]))
    return ValueScale(reference, settings.kind == "count")


def _usual_error(history: History, left_out: int, scale: ValueScale) -> float:
    errors = newest(history.errors, left_out)
    if not any(errors):
        return 0.0
    return float(np.median(scale.standard_errors(errors)))


def newest(numbers: Sequence[float], left_out: int) -> Sequence[float]:
    """The newest WINDOW of the points, but for the last `left_out`."""
    return numbers[: len(numbers) - left_out][-WINDOW:]


def _model(
    readings: Sequence[float],
    inherited: NoiseModel | None,
    smallest_noise: float,
    usual: UsualNoise | None,
) -> NoiseModel:
    """The model of the readings: with the inherited spread until they are enough."""
    # Always of the same length, whatever the points: sums are then added in the same order
    window = np.full(WINDOW, np.nan)
    window[WINDOW - len(readings) :] = readings
    if inherited is not None and len(readings) < min(OWN_POINTS, inherited.points):
        return with_new_level(inherited, window)
    step = tick(readings)
    model = fit_noise_model(window, max(smallest_noise, step / 2), usual)
    if step:
        model = replace(model, fewest=max(model.fewest, FEWEST_IF_ROUNDED))
    return model


def tick(readings: Sequence[float]) -> float:
    """Return the step that the readings are rounded to; 0 where they are not rounded."""
    distinct = sorted(set(readings))
    if 2 * len(distinct) > len(readings) or len(distinct) < 2:
        return 0.0
    return float(np.diff(distinct).min())
