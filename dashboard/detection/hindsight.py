"""A step among a series' first points, which no test of new points can see: it was there before
there was a noise model. It is looked for in hindsight, whenever the first level is fitted.
"""

from typing import NamedTuple

import numpy as np

from dashboard.detection import estimators
from dashboard.detection.tables import Bools, Floats, Ints, clipped
from dashboard.detection.usual_noise import UsualNoise

UNTIL = 80
"""Points of the first level up to which a split is looked for."""
FEWEST = 3
"""Points before a split: two outliers in a row are noise."""
FEWEST_LATER = 8
"""Points after it: what began later, the tests of single points see."""
PROVEN = 5.25
"""Standard errors that the best split needs. It is the best of many, and looked for a few times."""
PER_POINT = 20.0
"""More of them while there are few points, by the number of points, inversely."""
LESS_IF_BORROWED = 1.25
"""Fewer where other series say what the noise is."""
CLIPPED_AT = 2.5
"""Robust deviations from the median of its side that a reading counts for at most."""


class Split(NamedTuple):
    """Best split of readings into two levels.

    first: readings on the first level. before, after: the levels. error: standard error of their
    difference. errors_needed: standard errors that prove it.
    """

    first: int
    before: float
    after: float
    error: float
    errors_needed: float

    @property
    def share(self) -> float:
        """Share of the evidence that it needs; 1 or more proves it."""
        return abs(self.after - self.before) / self.error / self.errors_needed


def best_split(
    readings: Floats, errors: Floats, smallest_noise: float, usual: UsualNoise | None = None
) -> Split | None:
    """The best split of the readings (n,) into two levels; None where a line fits better.

    errors: standard error of each beyond the usual one. usual: noise to expect.
    """
    count = len(readings)
    places = np.arange(FEWEST, count - FEWEST_LATER + 1)
    is_later = np.arange(count)[None, :] >= places[:, None]  # (splits, n)
    earlier = _side_medians(readings, ~is_later, places)
    later = _side_medians(readings, is_later, count - places)
    medians = np.where(is_later, later[:, None], earlier[:, None])
    residuals = readings - medians
    # Where most points are equal, or in one of two modes, the median sees nothing of the others
    distances = np.abs(residuals)
    mean_distance = 1.25 * distances.mean(axis=1)
    deviation = np.maximum(1.4826 * np.median(distances, axis=1), mean_distance)
    deviation = np.maximum(deviation, smallest_noise)
    limit = CLIPPED_AT * deviation[:, None]
    near = clipped(residuals, limit)
    # The mean of a side is its median and the mean of what is left
    means = _side_means(near, is_later)
    around = near - means
    squares = np.einsum("sn,sn->s", around, around)
    best = int(squares.argmin())
    if _around_line(readings, float(limit[best, 0])) < squares[best]:
        return None
    first = int(places[best])
    scatter = float(np.sqrt(squares[best] / (count - 2)))
    scatter = max(scatter, float(mean_distance[best]), smallest_noise)
    prior = estimators.rho_prior(usual)
    rho = estimators.autocorrelation(around[best], count, scatter, prior, is_detrended=True)
    return Split(
        first=first,
        before=float(earlier[best] + means[best, 0]),
        after=float(later[best] + means[best, -1]),
        error=_error(scatter, rho, errors, first),
        errors_needed=PROVEN + PER_POINT / count - (LESS_IF_BORROWED if usual else 0.0),
    )


def _error(scatter: float, rho: float, errors: Floats, first: int) -> float:
    """Standard error of the difference of the sides' means."""
    widened = (1 + rho) / (1 - rho) * (1 / first + 1 / (len(errors) - first))
    # The mean of points whose own errors are e_i has the variance sum(e_i²) / n²
    own = sum(float(np.mean(side * side) / len(side)) for side in np.split(errors, [first]))
    return float(np.sqrt(scatter * scatter * widened + own))


def _side_medians(readings: Floats, is_of_side: Bools, sizes: Ints) -> Floats:
    """For each split the median of one of its sides, (splits,). sizes: of the sides, (splits,)."""
    ordered = np.sort(np.where(is_of_side, readings, np.inf), axis=1)  # (splits, n)
    rows = np.arange(len(sizes))
    return np.asarray((ordered[rows, (sizes - 1) // 2] + ordered[rows, sizes // 2]) / 2)


def _side_means(values: Floats, is_later: Bools) -> Floats:
    """For each value (splits, n) the mean of its side of the split."""
    later_count = is_later.sum(axis=1)
    later = np.where(is_later, values, 0.0).sum(axis=1) / later_count
    earlier = np.where(is_later, 0.0, values).sum(axis=1) / (values.shape[1] - later_count)
    return np.asarray(np.where(is_later, later[:, None], earlier[:, None]))


def _around_line(readings: Floats, limit: float) -> float:
    """Sum of the squares of the readings around a line, each at most limit²."""
    time = np.arange(len(readings)) - (len(readings) - 1) / 2
    level = float(np.median(readings))
    slope = float(np.einsum("n,n->", time, readings - level) / np.einsum("n,n->", time, time))
    around = clipped(readings - level - slope * time, limit)
    return float(np.einsum("n,n->", around, around))
