"""The level of one case in one metric: what its processes measured, by block, in logs. Pure."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.judgement.moderation import Floats

# The least standard error within a process; as in level_sql.py
_MIN_ERROR = 1e-12
_UPPER = 0.975  # the quantile at the upper end of an interval


class Block(NamedTuple):
    """Device and session of measured processes. session: empty for what was measured by itself."""

    device: str
    session: str


class BlockGroup(NamedTuple):
    """The processes of a case in one block: how many, and mean and sum of squares of ln(value)."""

    block: Block
    n: int
    mean: float
    m2: float


# Where nobody says where and when, as in tests and in data of one device and session
ONE_BLOCK = Block("", "here")


class Level(NamedTuple):
    """Summary of what n processes measured of one case in one metric: enough to compare it, and
    additive (`merge_levels`).

    mean, m2: of ln(value): the mean, and the sum of squared distances from it.
    within: the geometric mean of the squared standard errors of ln(value) within a process; NaN
        where they are unknown. Geometric, because one process with few samples must not blur many;
        if it is as far off as it says, the differences between processes show that, too.
    groups: of each block, in any order.
    """

    n: int
    mean: float
    m2: float
    within: float
    groups: tuple[BlockGroup, ...]

    @property
    def value(self) -> float:
        """The geometric mean over processes, in the metric's unit."""
        return math.exp(self.mean)


def level_of(
    values: Sequence[float], errors: Sequence[float] = (), block: Block = ONE_BLOCK
) -> Level:
    """The level of positive `values`, one from each process, all measured in one block.

    errors: their relative standard errors, if known.
    """
    logs = np.log(np.asarray(values, dtype=float))
    mean = logs.mean()
    group = BlockGroup(block, len(logs), float(mean), float(np.square(logs - mean).sum()))
    within = math.nan
    if len(errors):
        within = float(np.exp(np.mean(2 * np.log(np.maximum(errors, _MIN_ERROR)))))
    return Level(group.n, group.mean, group.m2, within, (group,))


def merge_levels(levels: Sequence[Level]) -> Level:
    """One level from parts of it: Chan, Golub, LeVeque (1983), equation 2.1b."""
    return reduce(_merge_two, levels)


def _merge_two(first: Level, second: Level) -> Level:
    by_block = {group.block: group for group in first.groups}
    for group in second.groups:
        same = by_block.get(group.block)
        by_block[group.block] = _merge_groups(same, group) if same else group

    whole = _merge_groups(BlockGroup(ONE_BLOCK, *first[:3]), BlockGroup(ONE_BLOCK, *second[:3]))
    within = math.nan
    measured = [level for level in (first, second) if not math.isnan(level.within)]
    if measured:
        log_sum = math.fsum(level.n * math.log(level.within) for level in measured)
        within = math.exp(log_sum / sum(level.n for level in measured))
    return Level(whole.n, whole.mean, whole.m2, within, tuple(by_block.values()))


def _merge_groups(first: BlockGroup, second: BlockGroup) -> BlockGroup:
    n = first.n + second.n
    apart = second.mean - first.mean
    mean = first.mean + apart * second.n / n
    m2 = first.m2 + second.m2 + apart**2 * first.n * second.n / n
    return BlockGroup(first.block, n, mean, m2)


def wider_error(between: Floats, within: Floats, freedom: Floats) -> tuple[Floats, Floats]:
    """Standard errors and their degrees of freedom: of the variances between and within processes
    the one that makes the wider interval. The first, of few degrees of freedom, does so with the
    smaller variance, too.
    """
    return wider((np.sqrt(between), freedom), (np.sqrt(within), np.full_like(within, np.inf)))


def wider(some: tuple[Floats, Floats], others: tuple[Floats, Floats]) -> tuple[Floats, Floats]:
    """Select, element by element, the standard errors and degrees of freedom of the wider interval;
    where one error is unknown, those of the other.
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
