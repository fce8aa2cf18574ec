"""How far a level moved, and where: likelihood under the noise law."""

import numpy as np

from dashboard.detection.law import Laws, log_density
from dashboard.detection.tables import Floats

USED = 64
"""Points of the new level that an effect is estimated from, at most."""


def estimate(readings: Floats, before: float, law: Laws) -> tuple[float, float, float]:
    """Step (percent) from the law's level to the readings of the new one, with its 95 % interval.

    before: the reading just before the step. A flat prior on a grid of steps; the uncertainty of
        the old level is
    allowed for by m / (m + N), as in `bank`. Where two modes leave several steps nearly equal, the
    smallest is told, and the interval holds them all: few points in one mode do not say which of
    the two it is.
    """
    readings = readings[:USED]
    scale, half = float(law.scale[0]), float(law.half[0])
    centre = float(np.median(readings)) - float(law.level[0])
    grid = centre + scale * np.linspace(-6 - 2 * half, 6 + 2 * half, 97 + 32 * round(half))
    fits = likelihoods(readings, before, law, grid) * float(
        law.own[0] / (law.own[0] + len(readings))
    )
    low, middle, high = _quantiles(grid, fits)
    if half:
        good = grid[fits >= fits.max() - 1.5]
        near = np.abs(grid - good[np.abs(good).argmin()]) < half * scale
        _, middle, _ = _quantiles(grid, np.where(near, fits, -np.inf))
    return middle, low, high


def _quantiles(grid: Floats, fits: Floats) -> tuple[float, float, float]:
    """The middle of what is believed of a step, between the ends of its 95 % interval."""
    belief = np.cumsum(np.exp(fits - fits.max()))
    low, middle, high = np.interp([0.025, 0.5, 0.975], belief / belief[-1], grid)
    return float(low), float(middle), float(high)


def likelihoods(readings: Floats, before: float, law: Laws, steps: Floats) -> Floats:
    """Log likelihood of the readings after each of the steps, (len(steps),)."""
    level, rho, limit = float(law.level[0]), float(law.rho[0]), 3 * float(law.marginal[0])
    residuals = readings[None, :] - level - steps[:, None]
    fresh = residuals.copy()
    fresh[:, 1:] -= rho * np.clip(residuals[:, :-1], -limit, limit)
    fresh[:, 0] -= rho * np.clip(before - level, -limit, limit)
    total: Floats = log_density(law, fresh).sum(axis=1)
    return total


def first_point(readings: Floats, law: Laws, step: float) -> int:
    """Index at which a known step most likely happened among the readings; the first reading is
    before it.

    The likelihood of "old level before s, new level from s on", for every s ≥ 1.
    """
    level, rho, limit = float(law.level[0]), float(law.rho[0]), 3 * float(law.marginal[0])
    old = readings - level
    previous = np.clip(old[:-1], -limit, limit)
    stays = log_density(law, old[1:] - rho * previous)
    starts = log_density(law, old[1:] - step - rho * previous)
    moved = log_density(law, old[1:] - step - rho * np.clip(old[:-1] - step, -limit, limit))
    path = np.cumsum(moved - stays)
    return 1 + int((starts - stays - path).argmax())
