"""Robust statistics of one window of a series, from which `noise_model` makes a model.

A window holds WINDOW readings, (WINDOW,), oldest first, NaN in front where the level has fewer
points. Residuals are readings less the level, 0 where there is no point. `present` says where there
is one, `count` how many.

Sums of products are `einsum`, not `@`: BLAS adds in an order that depends on the machine, and a
stored decision is to come out the same on another one.
"""

from typing import NamedTuple

import numpy as np

from dashboard.detection.tables import Bools, Floats, clipped, student_constant
from dashboard.detection.usual_noise import UsualNoise

WINDOW = 192
"""Points of history that a model is estimated from, at most."""

LEVEL_DEGREES = 4
"""Degrees of freedom of the Student weights of a level: between heavy tails and Gaussian ones."""

TAILS_TRIED: Floats = np.array([3.0, 30.0])
"""Heavy tails and Gaussian ones; what lies between is their mean, weighted by likelihood."""
TAILS_CONSTANTS: Floats = np.array([student_constant(float(nu)) for nu in TAILS_TRIED])
TAILS_PRIOR: Floats = np.log(np.array([0.2, 0.8]))
OUTLIER = 4.0
"""Deviations beyond which a residual is taken for so many when tails are weighed: outliers are not
tails.
"""

RHO_PRIOR, RHO_PRIOR_SD = 0.35, 0.2
"""What is believed of the autocorrelation before any data: neighbours that resemble each other are
normal, and twenty points alone cannot show it.
"""
RHO_MOST = 0.9
"""Beyond this a series wanders, and has no level."""

MODE_SHARE = 0.15
"""Share of the points that each of two modes holds at least."""

TREND_POINTS = 40
"""A trend needs so many points."""
SLOPE_PROVEN = 4.5
"""Standard errors from which a slope is taken for one, and no longer for autocorrelation."""
TREND_AHEAD = 36
"""The level is meant for so many points after the last one of the window: those which it leaves out
(`segment.LEFT_OUT`) and half of the longest time between two fits.
"""


def median_and_deviation(window: Floats, ordered: Floats, count: int) -> tuple[float, float]:
    """Median and robust standard deviation of a window.

    ordered: the window sorted, NaN last.
    """
    median = quantile(ordered, count, 0.5)
    # The quartiles of a Gaussian are 1.349 standard deviations apart
    from_quartiles = (quantile(ordered, count, 0.75) - quantile(ordered, count, 0.25)) / 1.349
    # Where more than half of the points are nearly equal, the quartiles see nothing of the others:
    # then 3/4 of the mean distance from the median, no distance counting for more than 4 deviations
    distance = np.minimum(np.abs(window - median), 4 * from_quartiles)
    from_distances = 0.75 * float(np.nansum(distance)) / count
    return median, max(from_quartiles, from_distances)


def quantile(ordered: Floats, count: int, share: float) -> float:
    """Quantile of the first `count` of sorted values, linear between neighbours."""
    place = (count - 1) * share
    below = int(place)
    low, high = float(ordered[below]), float(ordered[int(np.ceil(place))])
    return low + (high - low) * (place - below)


def student_weighted_mean(residuals: Floats, present: Bools, deviation: float) -> float:
    """M-estimate of location with Student weights: two steps of iterated reweighting from 0.

    Each step is sum(w x) / sum(w) with w = 1 / (nu + z²), z = (x - centre) / deviation (Lange,
    Little and Taylor 1989).
    """
    centre = 0.0
    for _ in range(2):
        z = (residuals - centre) / deviation
        weights = present / (LEVEL_DEGREES + z * z)
        centre = float(_sum_of_products(weights, residuals) / weights.sum())
    return centre


class RhoPrior(NamedTuple):
    """Prior belief about the autocorrelation, before any data, with its standard deviation."""

    rho: float
    error: float


USUAL_RHO = RhoPrior(RHO_PRIOR, RHO_PRIOR_SD)


def rho_prior(usual: UsualNoise | None) -> RhoPrior:
    """Return the prior that the other series give, or `USUAL_RHO` where they give none."""
    return USUAL_RHO if usual is None else RhoPrior(usual.rho, usual.rho_error)


def autocorrelation(
    residuals: Floats,
    count: int,
    deviation: float,
    prior: RhoPrior = USUAL_RHO,
    is_detrended: bool = False,
) -> float:
    """Lag-one autocorrelation, from 0 to RHO_MOST.

    is_detrended: the residuals are those of a line, not of a level.
    """
    # Clipped at 2.5 deviations, so that an outlier is not a lack of correlation
    near = clipped(residuals, 2.5 * deviation)
    power = _sum_of_products(near, near)
    raw = _sum_of_products(near[1:], near[:-1]) / (power if power > 0 else 1.0)
    # Its bias is -(1 + 3 rho) / n (Kendall 1954), and -(2 + 4 rho) / n around a line
    bias = 2 + 4 * raw if is_detrended else 1 + 3 * raw
    raw = min(max(raw + bias / count, -0.9), 0.95)
    # Shrunk to the prior by the precisions: the variance of the estimate is (1 - rho²) / n
    precision = count / (1 - raw * raw)
    prior_precision = prior.error**-2
    shrunk = (raw * precision + prior.rho * prior_precision) / (precision + prior_precision)
    return min(max(shrunk, 0.0), RHO_MOST)


def innovations(residuals: Floats, rho: float, deviation: float) -> Floats:
    """Return what is new in each residual after its predecessor, (WINDOW,): r_i - rho r_(i-1).

    The predecessor is clipped at 3 deviations, so that an outlier has no echo.
    """
    limit = 3 * deviation
    fresh = residuals.copy()
    fresh[1:] -= rho * clipped(residuals[:-1], limit)
    return fresh


def scale_and_degrees(
    innovations: Floats, present: Bools, count: int, start: float
) -> tuple[float, float]:
    """Scale and degrees of freedom of Student's t: posterior means of their logarithms.

    start: a first guess of the scale. For each of TAILS_TRIED the scale is found by EM (Liu and
    Rubin 1995), then the two are weighted by likelihood and prior.
    """
    bounded = np.minimum(np.abs(innovations), OUTLIER * start)
    squares = bounded * bounded  # (WINDOW,)
    mask = present.astype(float)
    nu = TAILS_TRIED[:, None]  # (2, 1)

    # Two EM steps: s² = sum(w x²) / sum(w), w = 1 / (nu + x² / s²)
    variance = np.full(len(TAILS_TRIED), start * start)  # (2,)
    for _ in range(2):
        weights = 1 / (nu + squares / variance[:, None])  # (2, WINDOW)
        pulled = np.einsum("dw,w->d", weights, squares) / np.einsum("dw,w->d", weights, mask)
        variance = np.maximum(pulled, 1e-24)

    # Log likelihood: n (log c - log s) - (nu + 1)/2 sum(log(1 + x² / (nu s²))).
    # The logarithm of a product of eight terms costs an eighth of eight logarithms
    terms = 1 + squares / (TAILS_TRIED * variance)[:, None]  # (2, WINDOW)
    products = terms.reshape(len(TAILS_TRIED), -1, 8).prod(axis=2)
    log_terms = np.log(products).sum(axis=1)  # (2,)
    log_scales = np.log(variance) / 2
    fits = count * (TAILS_CONSTANTS - log_scales) - (TAILS_TRIED + 1) / 2 * log_terms
    fits = fits + TAILS_PRIOR

    belief = np.exp(fits - fits.max())
    belief /= belief.sum()
    scale = np.exp((belief * np.log(variance)).sum() / 2)
    degrees = np.exp((belief * np.log(TAILS_TRIED)).sum())
    return float(scale), float(degrees)


class Slope(NamedTuple):
    """Percent a point, its standard error, and the deviation of the points around the line."""

    steepness: float
    error: float
    deviation: float

    @property
    def is_proven(self) -> bool:
        """True where it differs from none beyond doubt."""
        return abs(self.steepness) >= SLOPE_PROVEN * self.error


class Modes(NamedTuple):
    """Two groups of residuals: the middle between their means, half the distance of the means, the
    standard deviation within the groups, and the lower group's share.
    """

    middle: float
    half_distance: float
    within: float
    lower_share: float


def best_cut(ordered: Floats, count: int) -> Modes:
    """The cut of sorted residuals into two groups that leaves the least variance within them.

    Otsu 1979; in one dimension it is 2-means exactly. ordered: 0 from `count` on.
    """
    sums = np.cumsum(ordered)  # [k - 1]: of the k smallest
    sizes = np.arange(1, len(ordered) + 1)
    total = float(sums[-1])
    allowed = (sizes >= MODE_SHARE * count) & (sizes <= (1 - MODE_SHARE) * count)
    # Variance between the groups, times n: (S_k - k mean)² n / (k (n - k))
    between = np.where(allowed, (sums - total * sizes / count) ** 2, -1.0)
    between /= sizes * np.maximum(count - sizes, 1.0)
    cut = int(between.argmax())

    size, lower_sum = cut + 1.0, float(sums[cut])
    upper_size = max(count - size, 1.0)
    lower, upper = lower_sum / size, (total - lower_sum) / upper_size
    squares = float(_sum_of_products(ordered, ordered))
    inner = squares - size * (lower * lower) - upper_size * (upper * upper)
    within = float(np.sqrt(max(inner, 0.0) / max(count - 2, 1.0)))
    # The share is Laplace's, so that it is never 0 or 1
    return Modes((lower + upper) / 2, (upper - lower) / 2, within, (size + 1) / (count + 2))


def crossings(residuals: Floats, present: Bools) -> int:
    """Count how often the residuals go from one side of 0 to the other."""
    above = residuals > 0
    crossed = (above[1:] != above[:-1]) & present[1:] & present[:-1]
    return int(crossed.sum())


def slope(residuals: Floats, present: Bools, count: int, deviation: float) -> Slope:
    """The least-squares slope of the clipped residuals, and its error.

    A slope looks like autocorrelation, which makes its own error so large that it is never proven:
    noise and autocorrelation are those around the line.
    """
    time = times(len(residuals), count)
    time_squares = count * (count * count - 1) / 12  # sum of time² over the points
    limit = 3 * deviation
    steepness = _sum_of_products(clipped(residuals, limit), time) / time_squares
    around_line = np.where(present, residuals - steepness * time, 0.0)
    visible = np.where(present, around_line, np.nan)
    _, scatter = median_and_deviation(visible, np.sort(visible), count)
    scatter = max(scatter, deviation / 100)
    near = clipped(around_line, 3 * scatter)
    # Many outliers pull the line more than the robust deviation says
    pull = max(scatter * scatter, _sum_of_products(near, near) / count)
    rho = autocorrelation(around_line, count, scatter, is_detrended=True)
    # Autocorrelation multiplies the variance of a mean by (1 + rho) / (1 - rho)
    variance = pull * (1 + rho) / (1 - rho) / time_squares
    return Slope(steepness, float(np.sqrt(variance)), scatter)


def times(width: int, count: int) -> Floats:
    """The time of each of the places of a window, 0 in the middle of its points."""
    return np.asarray(np.arange(width) - (width - (count + 1) / 2), dtype=float)


def trend(residuals: Floats, count: int, deviation: float, rho: float) -> float:
    """Estimate how far the level has moved from the window's middle to now; 0 without a drift.

    A least-squares line through the clipped residuals, shrunk by the positive part of 1 - 2/t²
    (James and Stein 1961), so that noise without a trend moves the level by nothing.
    """
    if count < TREND_POINTS:
        return 0.0
    limit = 3 * deviation
    time = times(len(residuals), count)
    time_squares = count * (count * count - 1) / 12  # sum of time² over the points
    steepness = _sum_of_products(clipped(residuals, limit), time) / time_squares
    # Autocorrelation multiplies the variance of a mean by (1 + rho) / (1 - rho)
    variance = deviation * deviation * (1 + rho) / (1 - rho) / time_squares
    kept = max(0.0, 1 - 2 * variance / max(steepness * steepness, 1e-30))  # 1 - 2/t²
    return kept * steepness * (count / 2 + TREND_AHEAD)


def _sum_of_products(first: Floats, second: Floats) -> float:
    return float(np.einsum("w,w->", first, second))
