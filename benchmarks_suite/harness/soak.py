"""The soak: does memory grow over some hundred steps?

Asked for by ``measure.soak_steps``. After a warm-up, the steps fall into PARTS parts of equal
length, each with the median of what was in use after its passes over the batches. Growth is how
much more one part uses than the part before it: a leak grows in all of them, and a buffer that is
made once, or an allocator that takes another megabyte now and then, in few. So the value is the
median of those differences, with its exact interval (statistics.percentile_interval): of nine, from
the second smallest to the second largest. Only where that interval lies above zero does memory
grow.

On CUDA it is the memory of tensors, exactly; on a CPU the process without pages of files, which
grows by the allocator's grain (some 0.1 MB): a slow leak needs a long soak to show there.
"""

import itertools
import math
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from benchmarks_suite.harness import statistics
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.timing import Stopwatch

PARTS = 10
WARM_UP_SHARE = 0.25
PER_STEPS = 100


@dataclass(frozen=True)
class Soak:
    """parts_mb: what was in use in each part, after the warm-up."""

    warm_up_steps: int
    part_steps: int
    parts_mb: list[float]

    def growth(self) -> statistics.Interval:
        """MB per PER_STEPS steps."""
        scale = PER_STEPS / self.part_steps
        grown = [scale * (new - old) for old, new in itertools.pairwise(self.parts_mb)]
        return statistics.percentile_interval(grown, 0.5)

    def document(self) -> Document:
        return {
            "steps": self.warm_up_steps + PARTS * self.part_steps,
            "warm_up_steps": self.warm_up_steps,
            "part_steps": self.part_steps,
            "parts_mb": [round(megabytes, 4) for megabytes in self.parts_mb],
        }


def soak(
    stopwatch: Stopwatch, arm: Arm, batches: int, steps: int, in_use_gb: Callable[[], float]
) -> Soak:
    """About ``steps`` steps, in whole passes over the ``batches``: shapes may differ in memory."""
    passes = steps / batches
    warm_up = max(1, math.ceil(WARM_UP_SHARE * passes))
    passes_of_part = max(1, round((passes - warm_up) / PARTS))
    stopwatch.time(arm, warm_up * batches)
    parts_mb = []
    for _ in range(PARTS):
        readings_gb = []
        for _ in range(passes_of_part):
            stopwatch.time(arm, batches)
            readings_gb.append(in_use_gb())
        parts_mb.append(median(readings_gb) * 1000)
    return Soak(warm_up * batches, passes_of_part * batches, parts_mb)
