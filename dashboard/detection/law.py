"""The noise law of a series, estimated from its own history: level, scale, tails, autocorrelation,
two modes.

Everything works on rows: one row is one moment at which the law is estimated, so that a whole
series (many moments) and a single new point (one row) go through the same lines. Values are in
percent of a reference near the level.
"""

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from dashboard.detection.tables import (
    CENTRE,
    DEGREES,
    STEPS,
    STUDENT,
    Floats,
    Ints,
    student_constant,
    two_modes,
)

WINDOW = 192
"""Points of history that a law is estimated from, at most."""

TRIED: Floats = np.array([3.0, 30.0])
TRIED_CONSTANTS: Floats = np.array([student_constant(float(d)) for d in TRIED])
TRIED_PRIOR: Floats = np.log(np.array([0.2, 0.8]))
FARTHEST = 4.0
"""Deviations beyond which a residual is taken for so many when tails are weighed: outliers are not
tails.
"""
RHO_PRIOR, RHO_PRIOR_SD = 0.35, 0.2
"""What is believed of the autocorrelation before any data: runs are normal. Twenty points alone
cannot tell.
"""
MODES_APART = 4.2
"""Two modes are believed when their distance exceeds so many standard deviations within them (a
Gaussian cut in two at its mean: 2.7) and each holds at least MODE_SHARE of the points.
"""
MODE_SHARE = 0.15
MODE_TURNS = 3
"""Two modes take turns: a series that went from one to the other once or twice has changed its
level.
"""
STRAIGHT, AHEAD = 40, 36
"""A trend needs so many points; the level is meant for so many points after the last of them."""

Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Laws:
    """One noise law a row.

    level: centre, in percent of the reference. scale: of the innovations. rho: lag-one
        autocorrelation (0 or more).
    marginal: robust standard deviation of single values. known: points it was estimated from. own:
        points of the
    present level that `level` comes from. shape: row of `tables`. half, lower: the two modes at
    level ± half × scale and the share of the lower one; half is 0 where there is one mode.
    """

    level: Floats
    scale: Floats
    rho: Floats
    marginal: Floats
    known: Floats
    own: Floats
    shape: Ints
    half: Floats
    lower: Floats
    tables: Floats

    def row(self, index: int) -> "Laws":
        """That row alone, still as rows."""
        rows = {name: getattr(self, name)[index : index + 1] for name in ROW_FIELDS}
        return Laws(**rows, tables=self.tables)


ROW_FIELDS = ("level", "scale", "rho", "marginal", "known", "own", "shape", "half", "lower")


def fit(windows: Floats, floor: float) -> Laws:
    """Estimate a law from each row of windows (rows, WINDOW), in percent; NaN where there is no
    point.

    floor: the smallest scale that is believed, in percent. Six steps: level (M-estimate with
        Student weights, from
    the median), two modes (the best cut of the sorted values), autocorrelation (of clipped
    residuals, bias-corrected, shrunk to the prior), innovations, scale and tails (EM for Student's
    t: Liu and Rubin 1995), tables.
    """
    ordered = np.sort(windows, axis=1)  # NaN last
    known = ~np.isnan(windows)
    count = known.sum(axis=1).astype(float)
    median, deviation = median_and_deviation(windows, ordered, count)
    marginal = np.maximum(deviation, floor)
    level = median + location(np.where(known, windows - median[:, None], 0.0), known, marginal)
    residuals = np.where(known, windows - level[:, None], 0.0)
    middle, half, within, lower = modes(np.nan_to_num(ordered - level[:, None]), count)
    apart = 2 * half > MODES_APART * np.maximum(within, floor)
    apart &= turns(residuals - middle[:, None], known) >= MODE_TURNS
    rho = np.where(apart, 0.0, autocorrelation(residuals, count, marginal))
    scale, degrees = scale_and_tails(
        innovations(residuals, rho, marginal), known, count, marginal * np.sqrt(1 - rho * rho)
    )
    scale = np.maximum(np.where(apart, within * 1.05, scale), floor) * (1 + 0.5 / count)
    half = np.where(apart, half / scale, 0.0)
    shape = np.abs(np.log(degrees)[:, None] - np.log(DEGREES)).argmin(axis=1)
    level = level + np.where(apart, middle, trend(residuals, count, marginal, rho))
    laws = Laws(level, scale, rho, marginal, count, count, shape, half, lower, STUDENT)
    return with_mode_tables(laws)


def with_mode_tables(laws: Laws) -> Laws:
    """The same laws, with a table of its own for each row that has two modes."""
    rows = np.flatnonzero(laws.half)
    if not len(rows):
        return laws
    shape = laws.shape.copy()
    shape[rows] = len(STUDENT) + np.arange(len(rows))
    own = [two_modes(float(laws.half[row]), float(laws.lower[row])) for row in rows]
    return replace(laws, shape=shape, tables=np.vstack([STUDENT, *own]))


def median_and_deviation(windows: Floats, ordered: Floats, count: Floats) -> tuple[Floats, Floats]:
    """Median and robust standard deviation of each row: from the quartiles, or from clipped mean
    deviations if larger.

    ordered: the windows, each row sorted. A Gaussian's quartiles are 1.349 deviations apart.
    """
    median = quantile(ordered, count, 0.5)
    quartiles = (quantile(ordered, count, 0.75) - quantile(ordered, count, 0.25)) / 1.349
    away = np.minimum(np.abs(windows - median[:, None]), 4 * quartiles[:, None])
    return median, np.maximum(quartiles, 0.75 * np.nansum(away, axis=1) / count)


def quantile(ordered: Floats, count: Floats, share: float) -> Floats:
    """Quantile of the first `count` of each sorted row, between neighbours linearly."""
    place = (count - 1) * share
    below, rows = place.astype(int), np.arange(len(ordered))
    low, high = ordered[rows, below], ordered[rows, np.ceil(place).astype(int)]
    between: Floats = low + (high - low) * (place - below)
    return between


def location(residuals: Floats, known: Bools, scale: Floats) -> Floats:
    """Student-weighted mean (4 degrees) of each row, two steps from 0; residuals are 0 where not
    known.
    """
    centre = np.zeros(len(residuals))
    for _ in range(2):
        z = (residuals - centre[:, None]) / scale[:, None]
        weights = known / (4 + z * z)
        centre = np.einsum("rw,rw->r", weights, residuals) / weights.sum(axis=1)
    return centre


def autocorrelation(residuals: Floats, count: Floats, marginal: Floats) -> Floats:
    """Lag-one autocorrelation, between 0 and 0.9: clipped at 2.5 deviations, bias-corrected
    (Kendall 1954), shrunk.
    """
    limit = 2.5 * marginal[:, None]
    clipped = np.clip(residuals, -limit, limit)
    power = np.einsum("rw,rw->r", clipped, clipped)
    raw = np.einsum("rw,rw->r", clipped[:, 1:], clipped[:, :-1]) / np.where(power > 0, power, 1.0)
    raw = np.clip(raw + (1 + 3 * raw) / count, -0.9, 0.95)
    weight, prior = count / (1 - raw * raw), RHO_PRIOR_SD**-2
    shrunk: Floats = np.clip((raw * weight + RHO_PRIOR * prior) / (weight + prior), 0.0, 0.9)
    return shrunk


def rho_error(laws: Laws) -> Floats:
    """Standard error of the autocorrelation; 0 where two modes stand in its place."""
    precision = laws.known / (1 - laws.rho * laws.rho) + RHO_PRIOR_SD**-2
    return np.where(laws.half > 0, 0.0, precision**-0.5)


def innovations(residuals: Floats, rho: Floats, marginal: Floats) -> Floats:
    """What is new in each residual after its predecessor; the predecessor is clipped, so an outlier
    has no echo.
    """
    limit = 3 * marginal[:, None]
    fresh = residuals.copy()
    fresh[:, 1:] -= rho[:, None] * np.clip(residuals[:, :-1], -limit, limit)
    return fresh


def trend(residuals: Floats, count: Floats, marginal: Floats, rho: Floats) -> Floats:
    """How far the level of each row has moved from the row's middle to now, where it drifts; else
    0.

    A least-squares line through the clipped residuals, shrunk by the positive part of 1 - 2/t²
    (James and Stein 1961), so that noise without a trend moves the level by nothing.
    """
    limit = 3 * marginal[:, None]
    place = np.arange(residuals.shape[1]) - (residuals.shape[1] - (count[:, None] + 1) / 2)
    near = np.clip(residuals, -limit, limit)
    spread = count * (count * count - 1) / 12
    slope = np.einsum("rw,rw->r", near, place) / spread
    error = marginal**2 * (1 + rho) / (1 - rho) / spread
    kept = np.maximum(0.0, 1 - 2 * error / np.maximum(slope * slope, 1e-30)) * (count >= STRAIGHT)
    moved: Floats = kept * slope * (count / 2 + AHEAD)
    return moved


def scale_and_tails(
    fresh: Floats, known: Bools, count: Floats, start: Floats
) -> tuple[Floats, Floats]:
    """Scale and degrees of freedom of each row: the posterior mean over the tried ones (in
    logarithms).
    """
    bounded = np.minimum(np.abs(fresh), FARTHEST * start[:, None])
    squares, mask = bounded * bounded, known.astype(float)
    variance = np.repeat((start * start)[:, None], len(TRIED), axis=1)
    for _ in range(2):
        weights = 1 / (TRIED[:, None] + squares[:, None, :] / variance[:, :, None])
        pulled = np.einsum("rdw,rw->rd", weights, squares) / np.einsum("rdw,rw->rd", weights, mask)
        variance = np.maximum(pulled, 1e-24)
    terms = 1 + squares[:, None, :] / (TRIED * variance)[:, :, None]
    # An eighth of the logarithms
    powers = np.log(terms.reshape(*variance.shape, -1, 8).prod(axis=3)).sum(axis=2)
    likelihood = (
        count[:, None] * (TRIED_CONSTANTS - np.log(variance) / 2)
        - (TRIED + 1) / 2 * powers
        + TRIED_PRIOR
    )
    belief = np.exp(likelihood - likelihood.max(axis=1, keepdims=True))
    belief /= belief.sum(axis=1, keepdims=True)
    return np.exp((belief * np.log(variance)).sum(axis=1) / 2), np.exp(
        (belief * np.log(TRIED)).sum(axis=1)
    )


def modes(ordered: Floats, count: Floats) -> tuple[Floats, Floats, Floats, Floats]:
    """The best cut of each row into a lower and an upper group (Otsu 1979; exact 2-means in one
    dimension).

    ordered: sorted residuals, 0 from `count` on. Returns the middle between the two means, half
        their distance, the
    deviation within, and the lower one's share.
    """
    sums, size = np.cumsum(ordered, axis=1), np.arange(1, ordered.shape[1] + 1)
    total, n = sums[:, -1], count[:, None]
    allowed = (size >= MODE_SHARE * n) & (size <= (1 - MODE_SHARE) * n)
    between = np.where(allowed, (sums - total[:, None] * size / n) ** 2, -1.0)
    between /= size * np.maximum(n - size, 1.0)
    cut = between.argmax(axis=1)
    left, below = cut + 1.0, sums[np.arange(len(cut)), cut]
    right = np.maximum(count - left, 1.0)
    lower, upper = below / left, (total - below) / right
    inner = np.einsum("rw,rw->r", ordered, ordered) - left * lower**2 - right * upper**2
    within = np.sqrt(np.maximum(inner, 0.0) / np.maximum(count - 2, 1.0))
    return (lower + upper) / 2, (upper - lower) / 2, within, (left + 1) / (count + 2)


def turns(residuals: Floats, known: Bools) -> Ints:
    """How often each row goes from one side of 0 to the other."""
    above = residuals > 0
    found: Ints = ((above[:, 1:] != above[:, :-1]) & known[:, 1:] & known[:, :-1]).sum(axis=1)
    return found


def carry(law: Laws, windows: Floats) -> Laws:
    """The spread of `law` (one row) kept, the level estimated anew from each row of windows.

    After a change the new level has few points; its noise is believed to be the old one.
    """
    known = ~np.isnan(windows)
    count = known.sum(axis=1).astype(float)
    if law.half[0] > 0:
        level = np.array([level_between_modes(law, row[~np.isnan(row)]) for row in windows])
    else:
        median = quantile(np.sort(windows, axis=1), count, 0.5)
        level = median + location(
            np.where(known, windows - median[:, None], 0.0), known, law.marginal
        )
    rows = np.zeros(len(windows), dtype=int)
    kept = {name: getattr(law, name)[rows] for name in ROW_FIELDS}
    return Laws(**{**kept, "level": level, "own": count}, tables=law.tables)


def level_between_modes(law: Laws, values: Floats) -> float:
    """Level at which a two-mode law explains the values best; of nearly equal ones (2 nats) the
    nearest to 0.
    """
    reach = float(law.half[0] * law.scale[0])
    candidates = np.concatenate([values - reach, values + reach])
    fits = log_density(law, values[None, :] - candidates[:, None]).sum(axis=1)
    good = candidates[fits >= fits.max() - 2]
    nearest = good[np.abs(good).argmin()]
    close = np.abs(candidates - nearest) < law.scale[0]
    weights = np.exp(fits[close] - fits[close].max())
    return float((candidates[close] * weights).sum() / weights.sum())


def log_density(law: Laws, residuals: Floats) -> Floats:
    """Log density of residuals (percent) under a one-row law, up to a constant."""
    place = (
        np.clip(np.rint(residuals * (STEPS / law.scale[0])), -CENTRE, CENTRE).astype(int) + CENTRE
    )
    density: Floats = law.tables[law.shape[0]][place]
    return density
