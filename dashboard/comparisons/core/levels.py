"""The level of one case in one metric: what its processes measured, by device, in logs. Pure."""

import math
from collections.abc import Sequence
from functools import reduce
from typing import NamedTuple

import numpy as np

from dashboard.comparisons.core.device_effects import DeviceGroup

# The least standard error within a process; as in level_sql.py
_MIN_ERROR = 1e-12


class Level(NamedTuple):
    """What n processes measured of one case in one metric: enough to compare it, and additive
    (`merge_levels`).

    mean, m2: of ln(value): the mean, and the sum of squared distances from it.
    within: the geometric mean of the squared standard errors of ln(value) within a process; NaN
        where they are unknown. Geometric, because one process with few samples must not blur many;
        if it is as far off as it says, the differences between processes show that, too.
    by_device: n, mean and m2 of each device, in any order; empty where all ran on one.
    """

    n: int
    mean: float
    m2: float
    within: float
    by_device: tuple[DeviceGroup, ...] = ()

    @property
    def device_groups(self) -> tuple[DeviceGroup, ...]:
        """Its processes by device; never empty."""
        return self.by_device or (DeviceGroup("", self.n, self.mean, self.m2),)

    @property
    def value(self) -> float:
        """The geometric mean over processes, in the metric's unit."""
        return math.exp(self.mean)


def level_of(values: Sequence[float], errors: Sequence[float] = (), device: str = "") -> Level:
    """The level of positive `values`, one from each process.

    errors: their relative standard errors, if known. device: on which all of them ran.
    """
    logs = np.log(np.asarray(values, dtype=float))
    mean = logs.mean()
    group = DeviceGroup(device, len(logs), float(mean), float(np.square(logs - mean).sum()))
    within = math.nan
    if len(errors):
        within = float(np.exp(np.mean(2 * np.log(np.maximum(errors, _MIN_ERROR)))))
    return Level(group.n, group.mean, group.m2, within, (group,))


def merge_levels(levels: Sequence[Level]) -> Level:
    """One level from parts of it: Chan, Golub, LeVeque (1983), equation 2.1b."""
    return reduce(_merge_two, levels)


def _merge_two(first: Level, second: Level) -> Level:
    by_device = {group.device: group for group in first.device_groups}
    for group in second.device_groups:
        same = by_device.get(group.device)
        by_device[group.device] = _merge_groups(same, group) if same else group

    whole = _merge_groups(DeviceGroup("", *first[:3]), DeviceGroup("", *second[:3]))
    within = _merge_within(first, second)
    return Level(whole.n, whole.mean, whole.m2, within, tuple(by_device.values()))


def _merge_within(*levels: Level) -> float:
    measured = [level for level in levels if not math.isnan(level.within)]
    if not measured:
        return math.nan
    log_sum = math.fsum(level.n * math.log(level.within) for level in measured)
    return math.exp(log_sum / sum(level.n for level in measured))


def _merge_groups(first: DeviceGroup, second: DeviceGroup) -> DeviceGroup:
    n = first.n + second.n
    apart = second.mean - first.mean
    mean = first.mean + apart * second.n / n
    m2 = first.m2 + second.m2 + apart**2 * first.n * second.n / n
    return DeviceGroup(first.device, n, mean, m2)
