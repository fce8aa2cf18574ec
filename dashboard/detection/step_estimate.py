"""Size of a step in level, by the likelihood of the new level's points under the noise model."""

from typing import NamedTuple

import numpy as np

from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.tables import Floats

MOST_POINTS = 64
"""Points of the new level that a step is estimated from, at most."""
GRID_REACH = 6
"""Scales on either side of the difference of the medians in which the step is looked for; with two
modes, as far again as they are apart.
"""
GRID_POINTS = 97
"""An eighth of a scale apart."""
NEARLY_AS_LIKELY = 1.5
"""Nats by which one step may be less likely than another and still be as good."""


class StepEstimate(NamedTuple):
    """A step with its 95% interval, in percent."""

    step: float
    low: float
    high: float


def estimate_step(readings: Floats, before: float, model: NoiseModel) -> StepEstimate:
    """Step from the model's level to the readings (points,) of the new one, in percent.

    before: the reading just before the step.

    A flat prior on a grid of steps. The old level is only estimated, from m points: the log
    likelihood of N new ones counts for m / (m + N) of itself, as in `cusum`. Few points in one of
    two modes do not say which of the two it is: of steps that are nearly as likely the smallest is
    reported, and the interval holds them all.
    """
    readings = readings[:MOST_POINTS]
    half_distance = model.half_distance
    centre = float(np.median(readings)) - model.level
    reach = GRID_REACH + 2 * half_distance
    grid = centre + model.scale * np.linspace(
        -reach, reach, GRID_POINTS + 32 * round(half_distance)
    )

    worth = model.level_points / (model.level_points + len(readings))
    fits = _log_likelihoods(readings, before, model, grid) * worth  # (grid,)
    low, middle, high = _quantiles(grid, fits)
    if model.has_two_modes:
        # The middle of the smallest good step's own peak, half the modes' distance on either side
        good = grid[fits >= fits.max() - NEARLY_AS_LIKELY]
        smallest = good[np.abs(good).argmin()]
        near = np.abs(grid - smallest) < half_distance * model.scale
        _, middle, _ = _quantiles(grid, np.where(near, fits, -np.inf))
    return StepEstimate(middle, low, high)


def _quantiles(grid: Floats, fits: Floats) -> tuple[float, float, float]:
    """The middle of what is believed of a step, between the ends of its 95% interval."""
    # With a flat prior, belief is the likelihood; its running sum is the distribution function
    belief = np.cumsum(np.exp(fits - fits.max()))
    low, middle, high = np.interp([0.025, 0.5, 0.975], belief / belief[-1], grid)
    return float(low), float(middle), float(high)


def _log_likelihoods(readings: Floats, before: float, model: NoiseModel, steps: Floats) -> Floats:
    """Log likelihood of the readings after each of the steps, (steps,)."""
    limit = 3 * model.deviation
    residuals = readings[None, :] - model.level - steps[:, None]  # (steps, points)
    # Innovations: what each residual adds to rho times its predecessor (`estimators.innovations`).
    # The predecessor of the first one is still on the old level
    innovations = residuals.copy()
    innovations[:, 1:] -= model.rho * np.clip(residuals[:, :-1], -limit, limit)
    innovations[:, 0] -= model.rho * np.clip(before - model.level, -limit, limit)
    total: Floats = model.log_density(innovations).sum(axis=1)
    return total
