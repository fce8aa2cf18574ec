"""What one side measured of one metric of one case. Pure."""

import math
from collections.abc import Sequence
from typing import NamedTuple

from dashboard.comparisons.core.levels import Level, merge_levels
from dashboard.comparisons.core.libraries import Libraries


class CaseSamples(NamedTuple):
    """One metric under one benchmark version and library set: n values, one from each process.

    level: None where a value is not positive, which logs cannot take.
    least, most, mean: of the plain values.
    job: the newest one.
    """

    version: int
    libraries: Libraries
    level: Level | None
    n: int
    least: float
    most: float
    mean: float
    job: str = ""

    @property
    def value(self) -> float:
        return self.level.value if self.level else self.mean


def pool_samples(samples: Sequence[CaseSamples]) -> CaseSamples:
    """All samples of one benchmark version as one."""
    if len(samples) == 1:
        return samples[0]
    n = sum(each.n for each in samples)
    level = None
    levels = [each.level for each in samples if each.level]
    if len(levels) == len(samples):
        level = merge_levels(levels)
    return CaseSamples(
        version=samples[0].version,
        libraries=samples[0].libraries,
        level=level,
        n=n,
        least=min(each.least for each in samples),
        most=max(each.most for each in samples),
        mean=math.fsum(each.mean * each.n for each in samples) / n,
        job=samples[-1].job,
    )
