"""The noise of a series, estimated from its own history: level, scale, tails, autocorrelation, two
modes.

Everything is in percent of a reference near the level (`value_scale`), and a scale is a standard
deviation but for the tails.
"""

from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from dashboard.detection import estimators
from dashboard.detection.estimators import RHO_PRIOR_SD, Modes
from dashboard.detection.habits import FEWEST_POINTS, fewest_points
from dashboard.detection.tables import (
    CENTRE,
    DEGREES,
    STEPS_PER_SCALE,
    STUDENT,
    STUDENT_TWICE_AS_WIDE,
    Bools,
    Floats,
    two_modes,
)
from dashboard.detection.usual_noise import UsualNoise

MODES_APART = 4.2
"""Two modes are believed when they are further apart than so many standard deviations within them.
A Gaussian that is cut in two at its mean has 2.7.
"""
MODES_CROSSINGS = 3
"""Two modes take turns: a series that went from one to the other once or twice has changed its
level.
"""
NEARLY_AS_LIKELY = 2.0
"""Nats by which one level may be less likely than another and still be as good."""


@dataclass(frozen=True, slots=True)
class NoiseModel:
    """An autoregressive noise of order 1, whose innovations are Student's t or have two modes.

    level: centre, in percent of the reference.
    scale: of the innovations, in percent.
    rho: lag-one autocorrelation, 0 or more.
    deviation: robust standard deviation of single values, in percent.
    points: that the model was estimated from.
    level_points: of the present level, that `level` was estimated from.
    tails: row of `tables.STUDENT`; without meaning where there are two modes.
    half_distance, lower_share: the two modes are at level ± half_distance × scale, and this is the
        share of the lower one; half_distance is 0 where there is one mode.
    bar: what the required evidence is multiplied with, because the series came back from a level
        lately; else 1.
    borrowed: points' worth of what other series say of autocorrelation and scale.
    fewest: points of a new level that are needed, because this noise has outliers, bursts or ticks
        (`habits`).
    """

    level: float
    scale: float
    rho: float
    deviation: float
    points: float
    level_points: float
    tails: int
    half_distance: float
    lower_share: float
    bar: float = 1.0
    borrowed: float = 0.0
    fewest: int = FEWEST_POINTS

    @property
    def has_two_modes(self) -> bool:
        """True where values lie around two modes."""
        return self.half_distance > 0

    @property
    def degrees(self) -> float:
        """Degrees of freedom of the innovations; of two modes, whose tails are short, the most."""
        return float(DEGREES[-1] if self.has_two_modes else DEGREES[self.tails])

    @property
    def table(self) -> Floats:
        """Log density of the innovations on `tables.GRID`, (225,)."""
        if self.has_two_modes:
            return _two_modes(self.half_distance, self.lower_share)
        table: Floats = STUDENT[self.tails]
        return table

    @property
    def wider_ratios(self) -> Floats:
        """log g/f on `tables.GRID`, (225,), g being the density of noise twice as wide."""
        if self.has_two_modes:
            return _two_modes_ratios(self.half_distance, self.lower_share)
        ratios: Floats = STUDENT_TWICE_AS_WIDE[self.tails] - STUDENT[self.tails]
        return ratios

    @property
    def rho_error(self) -> float:
        """Standard error of the autocorrelation; 0 where two modes stand in its place."""
        if self.has_two_modes:
            return 0.0
        # Precisions add: of the data, n / (1 - rho²), and of the prior
        points = self.points + self.borrowed
        precision = points / (1 - self.rho * self.rho) + RHO_PRIOR_SD**-2
        return float(precision**-0.5)

    def log_density(self, residuals: Floats) -> Floats:
        """Log density of residuals (percent) of any shape, up to a constant."""
        # To the nearest quarter of a scale; beyond the grid the density is its floor
        place = np.rint(residuals * (STEPS_PER_SCALE / self.scale))
        index = np.clip(place, -CENTRE, CENTRE).astype(int) + CENTRE
        density: Floats = self.table[index]
        return density


@lru_cache(maxsize=256)
def _two_modes(half_distance: float, lower_share: float) -> Floats:
    """The table, made once for the many points that are judged by one model."""
    table = two_modes(half_distance, lower_share)
    table.flags.writeable = False
    return table


@lru_cache(maxsize=256)
def _two_modes_ratios(half_distance: float, lower_share: float) -> Floats:
    ratios = two_modes(half_distance, lower_share, width=2.0)
    return ratios - _two_modes(half_distance, lower_share)


def fit_noise_model(window: Floats, smallest_scale: float, usual: UsualNoise | None) -> NoiseModel:
    """Estimate the noise of a window (WINDOW,), in percent; NaN in front where there is no point.

    smallest_scale: the smallest that is believed, in percent. usual: noise to expect.
    """
    present = ~np.isnan(window)
    count = int(present.sum())

    # 1. The level, and what is left of the points around it, or around the line that it follows
    around = _around_level(window, present, count, smallest_scale)
    level, residuals, deviation = around[:3]

    # 2. Two modes: far apart, and taking turns. What looks like autocorrelation is then the modes
    ordered = np.sort(np.where(present, residuals, np.nan))  # NaN last
    modes = estimators.best_cut(np.where(np.isnan(ordered), 0.0, ordered), count)
    far_apart = 2 * modes.half_distance > MODES_APART * max(modes.within, smallest_scale)
    crossings = estimators.crossings(residuals - modes.middle, present)
    if far_apart and crossings >= MODES_CROSSINGS:
        return _model_of_two_modes(modes, level, deviation, smallest_scale, count)

    # 3. Autocorrelation, and what each residual adds to its predecessor
    prior = estimators.rho_prior(usual)
    rho = estimators.autocorrelation(residuals, count, deviation, prior, around.is_line)
    innovations = estimators.innovations(residuals, rho, deviation)

    # 4. Scale and tails. Of an AR(1), the innovations' variance is 1 - rho² of the values'
    expected = deviation * float(np.sqrt(1 - rho * rho))
    scale, degrees = estimators.scale_and_degrees(innovations, present, count, expected)

    # 5. The level of a series that drifts is where it is now
    ahead = around.ahead or estimators.trend(residuals, count, deviation, rho)
    return NoiseModel(
        level=level + ahead,
        scale=_believed_scale(_with_usual(scale, count, usual), smallest_scale, count),
        rho=rho,
        deviation=deviation,
        points=float(count),
        level_points=float(count),
        tails=int(np.abs(np.log(degrees) - np.log(DEGREES)).argmin()),
        half_distance=0.0,
        lower_share=modes.lower_share,
        borrowed=usual.points if usual else 0.0,
        fewest=fewest_points(residuals, deviation, count),
    )


class _Around(NamedTuple):
    """Residuals of a window's points around their level, or around a line: 0 where there is no
    point. ahead: how far the line is above the level where the level is meant for.
    """

    level: float
    residuals: Floats
    deviation: float
    is_line: bool
    ahead: float


def _around_level(window: Floats, present: Bools, count: int, smallest_scale: float) -> _Around:
    # An M-estimate, from the median on
    median, deviation = estimators.median_and_deviation(window, np.sort(window), count)
    deviation = max(deviation, smallest_scale)
    around_median = np.where(present, window - median, 0.0)
    level = median + estimators.student_weighted_mean(around_median, present, deviation)
    residuals = np.where(present, window - level, 0.0)
    if count < estimators.TREND_POINTS:
        return _Around(level, residuals, deviation, is_line=False, ahead=0.0)
    slope = estimators.slope(residuals, present, count, deviation)
    if not slope.is_proven:
        return _Around(level, residuals, deviation, is_line=False, ahead=0.0)
    line = slope.steepness * estimators.times(len(window), count)
    return _Around(
        level=level,
        residuals=np.where(present, residuals - line, 0.0),
        deviation=max(slope.deviation, smallest_scale),
        is_line=True,
        ahead=slope.steepness * (count / 2 + estimators.TREND_AHEAD),
    )


def _with_usual(scale: float, count: int, usual: UsualNoise | None) -> float:
    """The scale, drawn to what is usual: precisions add, and that of a log scale from n points is
    2 n.
    """
    if usual is None:
        return scale
    own, others = 2 * count, usual.log_scale_error**-2
    return float(np.exp((own * np.log(scale) + others * usual.log_scale) / (own + others)))


def _model_of_two_modes(
    modes: Modes, level: float, deviation: float, smallest_scale: float, count: int
) -> NoiseModel:
    # 5% more than the deviation within: the groups are cut where they overlap
    scale = _believed_scale(modes.within * 1.05, smallest_scale, count)
    return NoiseModel(
        level=level + modes.middle,
        scale=scale,
        rho=0.0,
        deviation=deviation,
        points=float(count),
        level_points=float(count),
        tails=0,
        half_distance=modes.half_distance / scale,
        lower_share=modes.lower_share,
    )


def _believed_scale(scale: float, smallest_scale: float, count: int) -> float:
    """Not under the smallest one, and with what a scale from few points is too small by."""
    return max(scale, smallest_scale) * (1 + 0.5 / count)


def with_new_level(model: NoiseModel, window: Floats) -> NoiseModel:
    """The model with its level estimated from a window (WINDOW,), NaN where there is no point.

    After a change the new level has few points; its noise is believed to be the old one's.
    """
    present = ~np.isnan(window)
    count = int(present.sum())
    if model.has_two_modes:
        level = _level_between_modes(model, window[present])
    else:
        median = estimators.quantile(np.sort(window), count, 0.5)
        around_median = np.where(present, window - median, 0.0)
        level = median + estimators.student_weighted_mean(around_median, present, model.deviation)
    return replace(model, level=level, level_points=float(count))


def _level_between_modes(model: NoiseModel, values: Floats) -> float:
    """The level at which a model of two modes explains the values (points,) best.

    Few points in one mode do not say in which: of levels that are nearly as likely it is the one
    nearest to 0, which is the reported level.
    """
    half_distance = model.half_distance * model.scale
    candidates = np.concatenate([values - half_distance, values + half_distance])
    fits = model.log_density(values[None, :] - candidates[:, None]).sum(axis=1)  # (candidates,)
    good = candidates[fits >= fits.max() - NEARLY_AS_LIKELY]
    nearest = good[np.abs(good).argmin()]

    # The mean of the candidates around it, weighted by likelihood
    close = np.abs(candidates - nearest) < model.scale
    weights = np.exp(fits[close] - fits[close].max())
    return float((candidates[close] * weights).sum() / weights.sum())
