"""How much a level changed, as a ratio with its interval: from few repeats of many cases. Pure;
everything in logs.

A level is known from a few processes only, and two or three repeats say little about the spread
between processes. But many cases are compared at once, so each case's variance is moderated by all
the others' (Smyth 2004, "Linear models and empirical Bayes methods", Statistical Applications in
Genetics and Molecular Biology 3(1), section 6.2). What was measured in one block, on one device in
one session, is compared there: block_effects.py. A ratio has an interval only where both sides have
two processes in blocks that they share: nothing else says how much two processes differ, or what a
device and a day do.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small
from numpy.typing import NDArray

from dashboard.comparisons.core.block_effects import Difference, difference
from dashboard.comparisons.core.levels import Level
from dashboard.judgement.moderation import variance_prior

Floats = NDArray[np.float64]
SpreadBasis = Literal["repeats", "single", "apart", "disagree"]

CONFIDENCE = 0.95
_UPPER = 0.5 + CONFIDENCE / 2  # the quantile at the upper end of an interval
# Many alike cases would make the interval of one that differs too narrow
MAX_PRIOR_FREEDOM = 30.0
# An interval around no change that reaches a third or three times says nothing: there is none
MAX_REACH = math.log(3)
# Of each side, in blocks that both share, before a ratio has an interval
MIN_PROCESSES = 2
# From so many on blocks count as values of their own: two would leave one degree of freedom
FEWEST_BLOCKS = 3


@dataclass(frozen=True, slots=True)
class Ratio:
    """new / base, with its interval.

    log: ln(new / base).
    error: its standard error; NaN without an interval.
    freedom: degrees of freedom of `error`.
    reach: half the interval's width in logs; infinite where it is unknown or says nothing.
    p: two-sided, of no change at all; NaN without an interval.
    basis: "repeats"; or why there is no interval: a side has a "single" process, the sides were
        measured "apart", in no common block, or the blocks "disagree".
    own: standard error and degrees of freedom without the other cases.
    processes: of the side that has fewer, in blocks that both share.
    blocks: the least and the greatest of the blocks' changes, in logs; of a mean of cases none.
    """

    log: float
    error: float
    freedom: float
    reach: float
    p: float
    basis: SpreadBasis
    own: tuple[float, float] = (math.nan, 1.0)
    processes: int = 0
    blocks: tuple[float, float] | None = None

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
        blocks = (-self.blocks[1], -self.blocks[0]) if self.blocks else None
        return replace(self, log=-self.log, blocks=blocks)


def estimate_ratios(
    base: Sequence[Level],
    new: Sequence[Level],
    kinds: Sequence[Hashable] = (),
    most_apart: float = math.inf,
    by_block: Sequence[bool] = (),
) -> list[Ratio]:
    """The ratio of each pair of levels of one metric; all pairs together say how much processes
    differ.

    most_apart: in logs; where the changes of two blocks differ by more, something else than the
        build changed with it, and there is no interval.

    by_block: of which pairs a block may be served otherwise than another one (step 4).

    1. The difference within blocks, and the variance between processes. Pairs with too little in
       common get their plain ratio, without an interval.
    2. Moderated by the other pairs' (module docstring): by those of the same kind where `kinds`
       names kinds and enough are of it.
    3. The interval is at least as wide as what the samples within the processes say.
    4. Where blocks may be served differently, and there are FEWEST_BLOCKS or more, each counts as
       one value where that makes the wider interval.
    """
    pairs = list(zip(base, new, strict=True))
    within_blocks = [difference(old.groups, fresh.groups) for old, fresh in pairs]
    repeated: dict[int, Difference] = {}
    for place, each in enumerate(within_blocks):
        if each and each.processes >= MIN_PROCESSES and each.most - each.least <= most_apart:
            repeated[place] = each
    estimated: dict[int, Ratio] = {}
    if repeated:
        ratios = _estimate(
            list(repeated.values()),
            [pairs[place] for place in repeated],
            [kinds[place] for place in repeated] if kinds else (),
            [bool(by_block) and by_block[place] for place in repeated],
        )
        estimated = dict(zip(repeated, ratios, strict=True))
    ratios = []
    for place, (old, fresh) in enumerate(pairs):
        ratios.append(estimated.get(place) or _plain_ratio(old, fresh, within_blocks[place]))
    return ratios


def _plain_ratio(base: Level, new: Level, within_blocks: Difference | None) -> Ratio:
    if within_blocks is None:
        return Ratio(new.mean - base.mean, math.nan, 1.0, math.inf, math.nan, "apart")
    processes = within_blocks.processes
    basis: SpreadBasis = "single" if processes < MIN_PROCESSES else "disagree"
    return Ratio(within_blocks.log, math.nan, 1.0, math.inf, math.nan, basis, processes=processes)


def _estimate(
    within_blocks: Sequence[Difference],
    pairs: Sequence[tuple[Level, Level]],
    kinds: Sequence[Hashable],
    by_block: Sequence[bool],
) -> list[Ratio]:
    """Steps 2 to 4 of `estimate_ratios`."""
    columns = np.array(within_blocks, dtype=float).T  # (10, cases)
    logs, variance_factor, squares, own_freedom, processes, *of_blocks = columns
    least, most, between, blocks, evenness = of_blocks

    # Variances of the logs, (cases,) each: moderated, of the case alone, and within the processes
    own_variance = squares / own_freedom
    prior_variance, prior_freedom = _priors(squares, own_freedom, kinds)
    freedom = own_freedom + prior_freedom
    variance = (prior_freedom * prior_variance + squares) / freedom
    within = _within(pairs)

    errors, error_freedom = wider_error(variance * variance_factor, within, freedom)
    own = wider_error(own_variance * variance_factor, within, own_freedom)

    block_errors, block_freedom = _errors_of_blocks(between, blocks, evenness, variance_factor)
    by_blocks = np.where(by_block, block_errors, 0.0), block_freedom
    errors, error_freedom = wider((errors, error_freedom), by_blocks)
    own = wider(own, by_blocks)

    ratios = ratios_with_intervals(logs, errors, error_freedom)
    more = zip(*(column.tolist() for column in (*own, processes, least, most)), strict=True)
    with_own_errors = []
    for ratio, (error, df, fewest, low, high) in zip(ratios, more, strict=True):
        with_own_errors.append(
            replace(ratio, own=(error, df), processes=int(fewest), blocks=(low, high))
        )
    return with_own_errors


def _errors_of_blocks(
    between: Floats, blocks: Floats, evenness: Floats, variance_factor: Floats
) -> tuple[Floats, Floats]:
    """(cases,) each: the standard error of a change if blocks differ and processes do not, weighted
    as in the change, and its degrees of freedom; 0 where they are too few.
    """
    uneven = evenness / np.maximum(1 - evenness, 1e-9)
    errors = np.sqrt(between * variance_factor * uneven)
    return np.where(blocks >= FEWEST_BLOCKS, errors, 0.0), np.maximum(blocks - 1, 1)


def _within(pairs: Sequence[tuple[Level, Level]]) -> Floats:
    """(cases,) The variance of a difference that the samples within the processes explain."""
    n = np.array([[old.n, fresh.n] for old, fresh in pairs], dtype=float)  # (cases, 2)
    parts = np.array([[old.within, fresh.within] for old, fresh in pairs]) / n
    is_unknown = np.isnan(parts).all(axis=1)
    return np.where(is_unknown, np.nan, np.nansum(parts, axis=1))


def _priors(squares: Floats, freedom: Floats, kinds: Sequence[Hashable]) -> tuple[Floats, Floats]:
    """(cases,) each: the `variance_prior` of the cases of the same kind, or that of all cases where
    too few of the kind have repeats.
    """
    is_repeated = freedom > 0
    variances = squares / np.where(is_repeated, freedom, 1)
    of_all = _prior(variances[is_repeated], freedom[is_repeated])
    prior_variance = np.full(len(freedom), of_all[0])
    prior_freedom = np.full(len(freedom), of_all[1])
    for kind in set(kinds):
        is_alike = np.array([other == kind for other in kinds])
        chosen = is_alike & is_repeated
        kind_variance, kind_freedom = _prior(variances[chosen], freedom[chosen])
        if kind_freedom:
            prior_variance[is_alike], prior_freedom[is_alike] = kind_variance, kind_freedom
    return prior_variance, prior_freedom


def _prior(variances: Floats, freedom: Floats) -> tuple[float, float]:
    return variance_prior(variances, freedom, MAX_PRIOR_FREEDOM)


def wider_error(between: Floats, within: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Standard errors and their degrees of freedom: of the variances between and within processes
    the one that makes the wider interval. The first, of few degrees of freedom, does so with the
    smaller variance, too.
    """
    return wider((np.sqrt(between), freedom), (np.sqrt(within), np.full_like(within, np.inf)))


def wider(some: tuple[Floats, Floats], others: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Of standard errors with their degrees of freedom those of the wider intervals; of an unknown
    one the other.
    """
    reach, other_reach = (
        np.nan_to_num(scipy.stats.t.ppf(_UPPER, np.maximum(freedom, 1)) * errors)
        for errors, freedom in (some, others)
    )
    is_other = other_reach > reach
    (errors, freedom), (other_errors, other_freedom) = some, others
    return np.where(is_other, other_errors, errors), np.where(is_other, other_freedom, freedom)


def level_intervals(levels: Sequence[Level]) -> list[tuple[float, float]]:
    """The interval of each of several levels of one case, one for each build, in the metric's unit.

    The variance between processes is pooled over all of them; NaN where neither it nor that within
    a process is known.
    """
    errors, freedom = standard_errors(levels)
    means = np.array([level.mean for level in levels])
    reach = scipy.stats.t.ppf(_UPPER, np.where(freedom > 0, freedom, 1)) * errors
    lows, highs = np.exp(means - reach), np.exp(means + reach)
    return list(zip(lows.tolist(), highs.tolist(), strict=True))


def standard_errors(
    levels: Sequence[Level], prior: tuple[float, float] = (0.0, 0.0)
) -> tuple[Floats, Floats]:
    """(standard errors of ln(value), their degrees of freedom) of alike levels, which share one
    variance between processes; errors are NaN where neither it nor that within a process is known.

    prior: a variance and its degrees of freedom, known from elsewhere, that repeats are moderated
        by.
    """
    repeats = sum(level.n - 1 for level in levels)
    variance, freedom = math.nan, 0.0
    if repeats:
        freedom = prior[1] + repeats
        variance = (math.prod(prior) + math.fsum(level.m2 for level in levels)) / freedom
    n, within = np.array([(level.n, level.within) for level in levels], dtype=float).T
    return wider_error(variance / n, within / n, np.full(len(levels), freedom))


def ratios_with_intervals(logs: Floats, errors: Floats, freedom: Floats) -> list[Ratio]:
    """Each with its interval by Student's t and its p; (ratios,) each."""
    with np.errstate(divide="ignore", invalid="ignore"):
        score = np.where(logs == 0, 0.0, np.abs(logs) / errors)
        p = np.where(np.isnan(errors), np.nan, 2 * scipy.stats.t.sf(score, freedom))
    reach = scipy.stats.t.ppf(_UPPER, freedom) * errors
    reach = np.where(reach <= np.maximum(MAX_REACH, np.abs(logs)), reach, np.inf)
    rows: list[list[float]] = np.array([logs, errors, freedom, reach, p]).T.tolist()
    ratios = []
    for log, error, df, half_width, probability in rows:
        ratios.append(Ratio(log, error, df, half_width, probability, "repeats"))
    return ratios


def averaged(ratios: Sequence[Ratio]) -> Sequence[Ratio]:
    """Those that their geometric mean is of."""
    return [ratio for ratio in ratios if ratio.basis == "repeats"] or ratios


def geomean(ratios: Sequence[Ratio]) -> Ratio | None:
    """The geometric mean of ratios; None of none, and of one it is this one. Its interval is of
    *these* cases: others would give another mean.

    Of ratios that have an interval alone, where any has. What a block does to all cases has
    cancelled out of each, so they differ independently, each with its own repeats' error; degrees
    of freedom by Welch (1938) and Satterthwaite (1946).
    """
    usable = averaged(ratios)
    if len(usable) < 2:
        return usable[0] if usable else None
    log = math.fsum(ratio.log for ratio in usable) / len(usable)
    fewest = min(ratio.processes for ratio in usable)
    if usable[0].basis != "repeats":
        basis = usable[0].basis
        return Ratio(log, math.nan, 1.0, math.inf, math.nan, basis, processes=fewest)

    errors, freedom = np.array([ratio.own for ratio in usable]).T
    variances = np.square(errors)
    total = float(variances.sum())
    parts = float((np.square(variances) / freedom).sum())
    pooled_freedom = total**2 / parts if parts > 0 else math.inf
    error = math.sqrt(total) / len(usable)
    logs, errors, freedoms = np.array([[log], [error], [pooled_freedom]])
    [mean] = ratios_with_intervals(logs, errors, freedoms)
    return replace(mean, processes=fewest)
