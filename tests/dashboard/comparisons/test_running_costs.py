"""Costs of a config: the spread of its starts."""

import math
from collections.abc import Sequence

import numpy as np
import pytest

from dashboard.comparisons.core.levels import Block, level_of, merge_levels
from dashboard.comparisons.core.running_costs import Interval, Option, candidates, step_estimates

EARLY, LATE = (30.0, 30.5, 31.0, 30.2), (40.0, 40.5, 39.0, 40.1)


def start_of(sessions: Sequence[Sequence[float]]) -> Interval:
    """The cold start of a config by the processes of each session."""
    levels = [level_of(values, block=Block("gpu", str(n))) for n, values in enumerate(sessions)]
    steps = {"speedup": level_of([2.0]), "eager_latency_ms": level_of([100.0])}
    option = Option("inductor", 1, {**steps, "cold_start_s": merge_levels(levels)})
    rng = np.random.default_rng(1)
    return candidates([option], "cold", step_estimates([option], rng), rng)[-1].start


def test_starts_of_two_sessions_that_differ_are_two_values() -> None:
    """Effects of a host and a day are the same for all starts of a session."""
    apart = start_of([EARLY, LATE])
    mixed = start_of([EARLY[:2] + LATE[:2], EARLY[2:] + LATE[2:]])
    assert apart.value == pytest.approx(mixed.value)
    assert math.log(apart.high / apart.low) > 1.3 * math.log(mixed.high / mixed.low)
