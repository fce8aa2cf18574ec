"""The level of one case in one metric: what its processes measured, by block, in logs. Pure."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from dashboard.comparisons.core.block_effects import Block, BlockGroup

# The least standard error within a process; as in level_sql.py
_MIN_ERROR = 1e-12
# Where nobody says where and when, as in tests and in data of one device and session
ONE_BLOCK = Block("", "here")


class Level(NamedTuple):
    """What n processes measured of one case in one metric: enough to compare it, and additive
    (`merge_levels`).

    mean, m2: of ln(value): the mean, and the sum of squared distances from it.
    within: the geometric mean of the squared standard errors of ln(value) within a process; NaN
        where they are unknown. Geometric, because one process with few samples must not blur many;
        if it is as far off as it says, the differences between processes show that, too.
    groups: n, mean and m2 of each block (block_effects.py), in any order.
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
