"""The smallest change that a series can show: what the detector, on this series' own noise, finds
in nine of ten cases.
"""

import numpy as np

from dashboard.detection.abstention import wanders
from dashboard.detection.cusum import TESTS, CusumTests, Runs
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.segment import Fit, Watching
from dashboard.detection.series_state import SeriesState
from dashboard.detection.tables import CENTRE, GRID, REACH, Floats
from dashboard.detection.value_scale import ValueScale

WITHIN = 36
"""Points after a change that are simulated: later ones, up to the 40 promised, already pull the
level along.
"""
FOUND = 0.9
TRIES = 400
PRECISION = 0.02
"""Share of the answer within which it is looked for: 400 tries do not show more."""


def smallest_change_shown(series: SeriesState) -> float | None:
    """Smallest step, in percent of the level, of which 90% are found within 40 points; never under
    the threshold.

    Steps of growing size are simulated on the estimated noise model and run through the same tests.
    None while the series is too young, where it wanders, or where it has no percent (counts, status
    words, a level of 0); the threshold itself where it holds one value exactly. Takes tens of
    milliseconds: keep the answer.
    """
    # Where one value is held, one point shows any change that matters
    if series.constant.is_quiet and series.settings.kind in ("continuous", "constant"):
        scale = ValueScale(series.constant.value, counts=False)
        return float(scale.threshold(series.settings) or series.settings.threshold_percent)
    if not isinstance(series.segment, Watching) or series.segment.fit.scale.unit != "percent":
        return None
    if wanders(series.segment.fit.model):
        return None
    return _smallest_step_found(series.segment.fit, np.random.default_rng(0))


def _smallest_step_found(fit: Fit, generator: np.random.Generator) -> float | None:
    """By bisection, from the threshold up to the largest step that is tested for."""
    innovations, offsets = _draws(fit.model, generator)
    low = float(fit.threshold)
    high = max(low, REACH * fit.model.scale)
    if _share_found(low, fit.tests, innovations, offsets) >= FOUND:
        return low
    if _share_found(high, fit.tests, innovations, offsets) < FOUND:
        return None
    while high - low > PRECISION * high:
        middle = (low + high) / 2
        if _share_found(middle, fit.tests, innovations, offsets) >= FOUND:
            high = middle
        else:
            low = middle
    return high


def _draws(model: NoiseModel, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Innovations (TRIES, WITHIN + 1) from the model, and the error of each try's level, (TRIES,);
    in percent.
    """
    inner = slice(CENTRE - CENTRE // 2, CENTRE + CENTRE // 2 + 1)  # ± REACH scales
    weights = np.exp(model.table[inner])  # the density, up to the grid's step
    shape = (TRIES, WITHIN + 1)
    drawn = generator.choice(GRID[inner], shape, p=weights / weights.sum()) * model.scale
    # The error of a mean of m points; autocorrelation widens it by the root of (1 + rho)/(1 - rho)
    widened = (1 + model.rho) / (1 - model.rho) / model.level_points
    error = model.deviation * np.sqrt(widened)
    return drawn, generator.normal(0, error, TRIES)


def _share_found(step: float, tests: CusumTests, innovations: Floats, offsets: Floats) -> float:
    """Share of the tries in which a step of that many percent is found within WITHIN points."""
    level, rho = tests.model.level, tests.model.rho
    # (TESTS, TRIES): all tries at once, through the same tests as the points of the series
    runs = Runs(np.zeros((TESTS, TRIES)), np.zeros((TESTS, TRIES), dtype=int))
    found_in = np.zeros(TRIES, dtype=bool)
    # The point before the step, and then the points of the new level
    noise = before = innovations[:, 0]
    for place in range(1, WITHIN + 1):
        noise = rho * noise + innovations[:, place]
        value = noise + offsets + step
        fresh = tests.innovations(level + value, level + before)
        runs = runs.extended(*tests.log_ratios(fresh))
        found_in |= tests.shares(runs).max(axis=0) >= 1
        before = value
    return float(found_in.mean())
