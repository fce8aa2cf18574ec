"""How much a level changed, as a ratio with its interval: from few repeats of many cases. Pure;
everything in logs.

A level is known from a few processes only, and two or three repeats say little about the spread
between processes. But many cases are compared at once, so each case's variance is moderated by all
the others' (Smyth 2004, "Linear models and empirical Bayes methods", Statistical Applications in
Genetics and Molecular Biology 3(1), section 6.2). What ran on the same device is compared there:
blocks.py.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass
from functools import reduce
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import digamma, polygamma
from scipy.stats import norm
from scipy.stats import t as student

from dashboard.comparisons.core.device_effects import (
    DeviceGroup,
    between_devices,
    differences,
    summed,
)

Floats = NDArray[np.float64]
Basis = Literal["repeats", "borrowed", "within", "none"]

CONFIDENCE = 0.95
LEAST_CASES = 4  # with repeats, before their variances say something about another case
MOST_PRIOR_FREEDOM = 30.0  # many alike cases would make the interval of one that differs too narrow
# An interval around no change that reaches a third or three times says nothing: it is none
MOST_REACH = math.log(3)
# Of the median variance: two equal values are luck, not proof that there is no spread
_LEAST_SHARE = 1e-5
_LEAST_ERROR = 1e-12  # within a process; as in level_sql.py
_BASES: tuple[Basis, ...] = ("repeats", "borrowed", "within", "none")


class Level(NamedTuple):
    """What n processes measured of one case in one metric: enough to compare it, and additive
    (`merged`).

    mean, m2: of ln(value): the mean, and the sum of squared distances from it. within: geometric
    mean of the squared standard errors of ln(value) within a process, NaN where no process tells
    it: one process with few samples must not blur many, and if it is as far off as it says, the
    processes' differences show that, too. on: the same by device, in any order; without it all ran
    on one.
    """

    n: int
    mean: float
    m2: float
    within: float
    on: tuple[DeviceGroup, ...] = ()

    @property
    def blocks(self) -> tuple[DeviceGroup, ...]:
        """Its processes by device; never empty."""
        return self.on or (DeviceGroup("", self.n, self.mean, self.m2),)

    @property
    def value(self) -> float:
        """The geometric mean over processes, in the metric's unit."""
        return math.exp(self.mean)


def level(values: Sequence[float], errors: Sequence[float] = (), device: str = "") -> Level:
    """The level of positive `values`, one from each process; `errors`: their relative standard
    errors, if known.
    device: on which all of them ran."""
    logs = np.log(np.asarray(values, dtype=float))
    within = (
        float(np.exp(np.mean(2 * np.log(np.maximum(errors, _LEAST_ERROR)))))
        if len(errors)
        else math.nan
    )
    whole = DeviceGroup(
        device, len(logs), float(logs.mean()), float(np.square(logs - logs.mean()).sum())
    )
    return Level(*whole[1:], within, (whole,))


def merged(levels: Sequence[Level]) -> Level:
    """One level from parts of it: Chan, Golub, LeVeque (1983), equation 2.1b."""
    return reduce(_merged, levels)


def _merged(one: Level, other: Level) -> Level:
    known = [(part.n, part.within) for part in (one, other) if not math.isnan(part.within)]
    within = (
        math.exp(math.fsum(n * math.log(w) for n, w in known) / sum(n for n, _ in known))
        if known
        else math.nan
    )
    on = {block.device: block for block in one.blocks}
    for block in other.blocks:
        on[block.device] = _together(on[block.device], block) if block.device in on else block
    whole = _together(DeviceGroup("", *one[:3]), DeviceGroup("", *other[:3]))
    return Level(whole.n, whole.mean, whole.m2, within, tuple(on.values()))


def _together(one: DeviceGroup, other: DeviceGroup) -> DeviceGroup:
    n, apart = one.n + other.n, other.mean - one.mean
    m2 = one.m2 + other.m2 + apart**2 * one.n * other.n / n
    return DeviceGroup(one.device, n, one.mean + apart * other.n / n, m2)


@dataclass(frozen=True, slots=True)
class Ratio:
    """new / base, with its interval.

    log: ln(new / base). error: its standard error, NaN where nothing tells it. freedom: degrees of
        freedom of `error`.
    reach: half the interval's width in logs; infinite where nothing tells it or it says nothing. p:
        two-sided, of no
    change at all; NaN unknown.
    basis: what the spread comes from: repeats of this very case, other cases' repeats, samples
        within one process.
    alone: standard error and degrees of freedom without the other cases; of a case without repeats
        the normal error
    that reaches as far, because its own spread is not known and may be much more than theirs.
    """

    log: float
    error: float
    freedom: float
    reach: float
    p: float
    basis: Basis
    alone: tuple[float, float]

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
        return 100 * math.expm1(self.log + self.reach) if math.isfinite(self.reach) else math.inf

    @property
    def is_known(self) -> bool:
        """Whether it has an interval."""
        return math.isfinite(self.reach)

    @property
    def inverse(self) -> "Ratio":
        """base / new."""
        return Ratio(
            -self.log, self.error, self.freedom, self.reach, self.p, self.basis, self.alone
        )


def ratios(
    base: Sequence[Level],
    new: Sequence[Level],
    kinds: Sequence[Hashable] = (),
    devices: float | None = None,
    *,
    confidence: float = CONFIDENCE,
) -> list[Ratio]:
    """The ratio of each pair of levels of one metric; all pairs together tell the spread between
    processes.

    1. The difference, of what ran on the same devices above all, and the variance between
       processes: n_base + n_new − 2 degrees of freedom (blocks.py; `devices`, where given, instead
       of what these pairs say of devices).
    2. Moderated by the other pairs' (module docstring), of the same kind where `kinds` tells them
       apart and enough are of it; a case without repeats takes theirs ("borrowed").
    3. The interval is at least as wide as what the samples within the processes say.
    """
    if not base:
        return []
    sums = summed([one.blocks for one in base], [one.blocks for one in new])
    found = differences(sums, between_devices(sums) if devices is None else devices)
    n = np.array([[a.n, b.n] for a, b in zip(base, new, strict=True)], dtype=float)
    parts = np.array([[a.within, b.within] for a, b in zip(base, new, strict=True)]) / n
    within = np.where(np.isnan(parts).all(axis=1), np.nan, np.nansum(parts, axis=1))
    own = sums.n - 2
    prior_variance, prior = _priors(found.squares, own, kinds or [None] * len(base))
    total = own + prior
    with np.errstate(invalid="ignore", divide="ignore"):
        between = (
            np.where(total > 0, (prior * prior_variance + found.squares) / total, np.nan)
            * found.share
        )
        unshared = np.where(own > 0, found.squares / own, np.nan) * found.share
    errors, freedom = _error(between, within, total)
    alone = list(zip(*(array.tolist() for array in _error(unshared, within, own)), strict=True))
    bases = np.where(own > 0, 0, np.where(total > 0, 1, np.where(np.isnan(within), 3, 2)))
    known = [mine if repeated else None for mine, repeated in zip(alone, own > 0, strict=True)]
    return _ratios(
        found.logs, errors, freedom, [_BASES[basis] for basis in bases], known, confidence
    )


def _priors(squares: Floats, freedom: Floats, kinds: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """(cases,) each: `moderation` by the cases of the same kind, by all where too few of it have
    repeats.
    """
    repeated = freedom > 0
    variances = squares / np.where(repeated, freedom, 1)
    of_all = moderation(variances[repeated], freedom[repeated])
    variance, prior = np.full(len(freedom), of_all[0]), np.full(len(freedom), of_all[1])
    for kind in set(kinds):
        alike = np.array([one == kind for one in kinds])
        mine = moderation(variances[alike & repeated], freedom[alike & repeated])
        if mine[1]:
            variance[alike], prior[alike] = mine
    return variance, prior


def _error(between: Floats, within: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Standard errors and their degrees of freedom: of the variances between and within processes
    the one that makes the wider interval. The first, of few degrees of freedom, does so with the
    smaller variance, too.
    """
    upper = 0.5 + CONFIDENCE / 2
    reach = student.ppf(upper, np.where(freedom > 0, freedom, np.nan)) * np.sqrt(between)
    is_within = np.nan_to_num(reach) < norm.ppf(upper) * np.sqrt(within)
    return np.sqrt(np.where(is_within, within, between)), np.where(is_within, np.inf, freedom)


def spans(levels: Sequence[Level], *, confidence: float = CONFIDENCE) -> list[tuple[float, float]]:
    """The interval of each of several levels of one case, one for each build, in the metric's unit.

    The variance between processes is pooled over all of them; NaN where neither it nor that within
    a process is known.
    """
    found, freedom = errors(levels)
    means = np.array([one.mean for one in levels])
    reach = student.ppf(0.5 + confidence / 2, np.where(freedom > 0, freedom, 1)) * found
    return list(zip(np.exp(means - reach).tolist(), np.exp(means + reach).tolist(), strict=True))


def errors(levels: Sequence[Level]) -> tuple[Floats, Floats]:
    """(standard errors of ln(value), their degrees of freedom) of alike levels, which share one
    variance between processes; errors are NaN where neither it nor that within a process is known.
    """
    own = sum(one.n - 1 for one in levels)
    pooled = math.fsum(one.m2 for one in levels) / own if own else math.nan
    n, within = np.array([(one.n, one.within) for one in levels], dtype=float).T
    return _error(pooled / n, within / n, np.full(len(levels), float(own)))


def moderation(variances: Floats, freedom: Floats) -> tuple[float, float]:
    """(variance, degrees of freedom) that many cases with few repeats have in common; (0, 0) where
    they say nothing.

    Smyth 2004, section 6.2: the moments of ln(variance) give a scaled inverse χ² prior.
    """
    positive = variances[variances > 0]
    if len(variances) < LEAST_CASES or 2 * len(positive) < len(variances):
        return 0.0, 0.0
    logs = np.log(np.maximum(variances, _LEAST_SHARE * np.median(positive)))
    centred = logs - digamma(freedom / 2) + np.log(freedom / 2)
    excess = float(np.var(centred, ddof=1) - np.mean(polygamma(1, freedom / 2)))
    prior = 2 * _inverse_trigamma(excess) if excess > 0 else math.inf
    prior = min(prior, MOST_PRIOR_FREEDOM)
    return float(np.exp(centred.mean() + digamma(prior / 2) - np.log(prior / 2))), prior


def _inverse_trigamma(value: float) -> float:
    """x with trigamma(x) = value; trigamma falls from ∞ to 0."""
    return float(brentq(lambda x: polygamma(1, x) - value, 1e-6, 1e9))


def _ratios(
    logs: Floats,
    errors: Floats,
    freedom: Floats,
    bases: Sequence[Basis],
    alone: Sequence[tuple[float, float] | None],
    confidence: float,
) -> list[Ratio]:
    freedom = np.where(freedom > 0, freedom, 1)
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(logs == 0, 0.0, np.abs(logs) / errors)
        p = np.where(np.isnan(errors), np.nan, 2 * student.sf(score, freedom))
    upper = 0.5 + confidence / 2
    reach = student.ppf(upper, freedom) * errors
    borrowed = reach / norm.ppf(upper)
    reach = np.where(reach <= np.maximum(MOST_REACH, np.abs(logs)), reach, np.inf)
    columns = (array.tolist() for array in (logs, errors, freedom, reach, p, borrowed))
    return [
        Ratio(log, error, df, half, odds, basis, mine or (normal, math.inf))
        for log, error, df, half, odds, normal, basis, mine in zip(
            *columns, bases, alone, strict=True
        )
    ]


def geomean(found: Sequence[Ratio], *, confidence: float = CONFIDENCE) -> Ratio | None:
    """The geometric mean of ratios, None of none; of one it is this one. Its interval is of *these*
    cases: others would give another mean.

    The error of a mean of independent ratios, each with its own repeats' error; degrees of freedom
    by Welch (1938) and Satterthwaite (1946).
    """
    if len(found) < 2:
        return found[0] if found else None
    variances = np.square([ratio.alone[0] for ratio in found])
    freedom = np.array([ratio.alone[1] for ratio in found])
    total, parts = float(variances.sum()), float((np.square(variances) / freedom).sum())
    shared = total**2 / parts if parts > 0 else math.inf
    basis = max((ratio.basis for ratio in found), key=_BASES.index)
    log = math.fsum(ratio.log for ratio in found) / len(found)
    logs, errors, freedoms = np.array([[log], [math.sqrt(total) / len(found)], [shared]])
    return _ratios(logs, errors, freedoms, [basis], [None], confidence)[0]
