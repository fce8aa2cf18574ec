"""How much a level changed, as a ratio with its interval: from few repeats of many cases. Pure;
everything in logs.

A level is known from a few processes only, and two or three repeats say little about the spread
between processes. But many cases are compared at once, so each case's variance is moderated by all
the others' (Smyth 2004, "Linear models and empirical Bayes methods", Statistical Applications in
Genetics and Molecular Biology 3(1), section 6.2). What ran on the same device is compared there:
device_effects.py.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import norm
from scipy.stats import t as student

from dashboard.comparisons.core.device_effects import (
    device_variance_ratio,
    differences,
    sufficient_statistics,
)
from dashboard.comparisons.core.levels import Level

Floats = NDArray[np.float64]
SpreadBasis = Literal["repeats", "borrowed", "within", "none"]

CONFIDENCE = 0.95
# With repeats, before their variances say something about another case
MIN_CASES = 4
# Many alike cases would make the interval of one that differs too narrow
MAX_PRIOR_FREEDOM = 30.0
# An interval around no change that reaches a third or three times says nothing: there is none
MAX_REACH = math.log(3)
# Of the median variance: two equal values are luck, not proof that there is no spread
_MIN_VARIANCE_SHARE = 1e-5
# From the firmest to none
_BASES: tuple[SpreadBasis, ...] = ("repeats", "borrowed", "within", "none")


@dataclass(frozen=True, slots=True)
class Ratio:
    """new / base, with its interval.

    log: ln(new / base).
    error: its standard error; NaN where nothing is known of it.
    freedom: degrees of freedom of `error`.
    reach: half the interval's width in logs; infinite where it is unknown or says nothing.
    p: two-sided, of no change at all; NaN where it is unknown.
    basis: what the spread comes from: repeats of this very case, other cases' repeats, samples
        within one process.
    unmoderated: standard error and degrees of freedom without the other cases. Of a case without
        repeats: the normal error that reaches as far, because its own spread is not known and may
        be much more than theirs.
    """

    log: float
    error: float
    freedom: float
    reach: float
    p: float
    basis: SpreadBasis
    unmoderated: tuple[float, float]

    @property
    def percent(self) -> float:
        return 100 * math.expm1(self.log)

    @property
    def low(self) -> float:
        """The lower end of the interval, percent; −100 where it is unknown."""
        return 100 * math.expm1(self.log - self.reach)

    @property
    def high(self) -> float:
        """The upper end of the interval, percent; infinite where it is unknown."""
        if not math.isfinite(self.reach):
            return math.inf
        return 100 * math.expm1(self.log + self.reach)

    @property
    def is_known(self) -> bool:
        """Whether it has an interval."""
        return math.isfinite(self.reach)

    @property
    def inverse(self) -> "Ratio":
        """base / new."""
        return replace(self, log=-self.log)


def estimate_ratios(
    base: Sequence[Level],
    new: Sequence[Level],
    kinds: Sequence[Hashable] = (),
    device_variance: float | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> list[Ratio]:
    """The ratio of each pair of levels of one metric; all pairs together say how much processes
    differ.

    1. The difference, of what ran on the same devices above all, and the variance between
       processes: n_base + n_new − 2 degrees of freedom (device_effects.py; `device_variance`, where
       given, instead of what these pairs say of devices).
    2. Moderated by the other pairs' (module docstring): by those of the same kind where `kinds`
       names kinds and enough are of it. A case without repeats takes theirs ("borrowed").
    3. The interval is at least as wide as what the samples within the processes say.
    """
    if not base:
        return []
    statistics = sufficient_statistics(
        [level.device_groups for level in base], [level.device_groups for level in new]
    )
    if device_variance is None:
        device_variance = device_variance_ratio(statistics)
    estimates = differences(statistics, device_variance)

    # Variances of the logs, (cases,) each: moderated, of the case alone, and within the processes
    own_freedom = statistics.n - 2
    prior_variance, prior_freedom = _priors(estimates.squares, own_freedom, kinds)
    freedom = own_freedom + prior_freedom
    with np.errstate(invalid="ignore", divide="ignore"):
        moderated = (prior_freedom * prior_variance + estimates.squares) / freedom
        between = np.where(freedom > 0, moderated, np.nan) * estimates.variance_factor
        unmoderated = estimates.squares / own_freedom
        own_between = np.where(own_freedom > 0, unmoderated, np.nan) * estimates.variance_factor
    within = _within(base, new)

    errors, error_freedom = _wider_error(between, within, freedom)
    own_errors, own_error_freedom = _wider_error(own_between, within, own_freedom)
    own = zip(own_errors.tolist(), own_error_freedom.tolist(), strict=True)
    bases = list(map(_basis, own_freedom, freedom, within))
    alone = [pair if basis == "repeats" else None for pair, basis in zip(own, bases, strict=True)]
    return _with_intervals(estimates.logs, errors, error_freedom, bases, alone, confidence)


def _within(base: Sequence[Level], new: Sequence[Level]) -> Floats:
    """(cases,) The variance of a difference that the samples within the processes explain."""
    sides = list(zip(base, new, strict=True))
    n = np.array([[old.n, fresh.n] for old, fresh in sides], dtype=float)  # (cases, 2)
    parts = np.array([[old.within, fresh.within] for old, fresh in sides]) / n
    is_unknown = np.isnan(parts).all(axis=1)
    return np.where(is_unknown, np.nan, np.nansum(parts, axis=1))


def _basis(own_freedom: float, freedom: float, within: float) -> SpreadBasis:
    if own_freedom > 0:
        return "repeats"
    if freedom > 0:
        return "borrowed"
    return "none" if math.isnan(within) else "within"


def _priors(squares: Floats, freedom: Floats, kinds: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """(cases,) each: the `variance_prior` of the cases of the same kind, or that of all cases where
    too few of the kind have repeats.
    """
    is_repeated = freedom > 0
    variances = squares / np.where(is_repeated, freedom, 1)
    of_all = variance_prior(variances[is_repeated], freedom[is_repeated])
    prior_variance = np.full(len(freedom), of_all[0])
    prior_freedom = np.full(len(freedom), of_all[1])
    for kind in set(kinds):
        is_alike = np.array([other == kind for other in kinds])
        chosen = is_alike & is_repeated
        kind_variance, kind_freedom = variance_prior(variances[chosen], freedom[chosen])
        if kind_freedom:
            prior_variance[is_alike], prior_freedom[is_alike] = kind_variance, kind_freedom
    return prior_variance, prior_freedom


def _wider_error(between: Floats, within: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Standard errors and their degrees of freedom: of the variances between and within processes
    the one that makes the wider interval. The first, of few degrees of freedom, does so with the
    smaller variance, too.
    """
    upper = 0.5 + CONFIDENCE / 2
    scores = student.ppf(upper, np.where(freedom > 0, freedom, np.nan))
    reach = scores * np.sqrt(between)
    is_within = np.nan_to_num(reach) < norm.ppf(upper) * np.sqrt(within)
    errors = np.sqrt(np.where(is_within, within, between))
    return errors, np.where(is_within, np.inf, freedom)


def level_intervals(
    levels: Sequence[Level], *, confidence: float = CONFIDENCE
) -> list[tuple[float, float]]:
    """The interval of each of several levels of one case, one for each build, in the metric's unit.

    The variance between processes is pooled over all of them; NaN where neither it nor that within
    a process is known.
    """
    errors, freedom = standard_errors(levels)
    means = np.array([level.mean for level in levels])
    reach = student.ppf(0.5 + confidence / 2, np.where(freedom > 0, freedom, 1)) * errors
    lows, highs = np.exp(means - reach), np.exp(means + reach)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def standard_errors(levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """(standard errors of ln(value), their degrees of freedom) of alike levels, which share one
    variance between processes; errors are NaN where neither it nor that within a process is known.
    """
    freedom = sum(level.n - 1 for level in levels)
    variance = math.nan
    if freedom:
        variance = math.fsum(level.m2 for level in levels) / freedom
    n, within = np.array([(level.n, level.within) for level in levels], dtype=float).T
    return _wider_error(variance / n, within / n, np.full(len(levels), float(freedom)))


def variance_prior(variances: Floats, freedom: Floats) -> tuple[float, float]:
    """(variance, degrees of freedom) that many cases with few repeats have in common; (0, 0) where
    they say nothing.

    Smyth 2004, section 6.2: the moments of ln(variance) give a scaled inverse χ² prior.
    """
    positive = variances[variances > 0]
    if len(variances) < MIN_CASES or 2 * len(positive) < len(variances):
        return 0.0, 0.0
    logs = np.log(np.maximum(variances, _MIN_VARIANCE_SHARE * np.median(positive)))
    centred = logs - digamma(freedom / 2) + np.log(freedom / 2)

    # Var(centred) = trigamma(freedom / 2) + trigamma(prior / 2)
    excess = float(np.var(centred, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    prior = MAX_PRIOR_FREEDOM
    if excess > 0:
        prior = min(prior, 2 * _inverse_trigamma(excess))
    return float(np.exp(centred.mean() + digamma(prior / 2) - np.log(prior / 2))), prior


def _inverse_trigamma(value: float) -> float:
    """x with trigamma(x) = value; trigamma falls from ∞ to 0."""
    return float(brentq(lambda x: polygamma(1, x) - value, 1e-6, 1e9))


def _with_intervals(
    logs: Floats,
    errors: Floats,
    freedom: Floats,
    bases: Sequence[SpreadBasis],
    unmoderated: Sequence[tuple[float, float] | None],
    confidence: float,
) -> list[Ratio]:
    freedom = np.where(freedom > 0, freedom, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(logs == 0, 0.0, np.abs(logs) / errors)
        p = np.where(np.isnan(errors), np.nan, 2 * student.sf(score, freedom))
    upper = 0.5 + confidence / 2
    reach = student.ppf(upper, freedom) * errors
    normal_errors = (reach / norm.ppf(upper)).tolist()
    reach = np.where(reach <= np.maximum(MAX_REACH, np.abs(logs)), reach, np.inf)

    columns = np.array([logs, errors, freedom, reach, p]).T.tolist()  # a row for each ratio
    ratios = []
    for row, basis, own, normal in zip(columns, bases, unmoderated, normal_errors, strict=True):
        log, error, df, half_width, probability = row
        pair = own or (normal, math.inf)
        ratios.append(Ratio(log, error, df, half_width, probability, basis, pair))
    return ratios


def geomean(ratios: Sequence[Ratio], *, confidence: float = CONFIDENCE) -> Ratio | None:
    """The geometric mean of ratios; None of none, and of one it is this one. Its interval is of
    *these* cases: others would give another mean.

    The error of a mean of independent ratios, each with its own repeats' error; degrees of freedom
    by Welch (1938) and Satterthwaite (1946).
    """
    if len(ratios) < 2:
        return ratios[0] if ratios else None
    errors, freedom = np.array([ratio.unmoderated for ratio in ratios]).T
    variances = np.square(errors)
    total = float(variances.sum())
    parts = float((np.square(variances) / freedom).sum())
    pooled_freedom = math.inf
    if parts > 0:
        pooled_freedom = total**2 / parts
    basis = max((ratio.basis for ratio in ratios), key=_BASES.index)
    log = math.fsum(ratio.log for ratio in ratios) / len(ratios)
    error = math.sqrt(total) / len(ratios)
    logs, errors, freedoms = np.array([[log], [error], [pooled_freedom]])
    return _with_intervals(logs, errors, freedoms, [basis], [None], confidence)[0]
