"""An advice as rows: the times of the page's table, and the export. Pure."""

import math
from collections.abc import Sequence
from typing import Any

from dashboard.advisor.core.advice import Advice
from dashboard.comparisons.core.running_costs import Interval

_TABLE_STEPS = (1, 10, 100, 1_000, 10_000, 100_000, 1_000_000)
EXPORT_FIELDS = (
    "config",
    "start",
    "start_s",
    "start_low_s",
    "start_high_s",
    "step_ms",
    "step_low_ms",
    "step_high_ms",
    "memory_gb",
    "ahead_from_steps",
    "ahead_from_low",
    "ahead_from_high",
)


def total_times(advice: Advice) -> list[tuple[int, list[Interval]]]:
    """For several numbers of steps the seconds of each candidate."""
    rows = []
    for steps in _TABLE_STEPS:
        rows.append((steps, [candidate.seconds(steps) for candidate in advice.candidates]))
    return rows


def export_rows(advice: Advice) -> list[Sequence[Any]]:
    """Every candidate in the order of EXPORT_FIELDS; an infinite number of steps is left empty."""
    ahead_from = {step_range.config: step_range.from_steps for step_range in advice.ranges}
    never = Interval(math.inf, math.inf, math.inf)
    rows: list[Sequence[Any]] = []
    for candidate in advice.candidates:
        steps = ahead_from.get(candidate.config, never)
        rows.append(
            (
                candidate.config,
                advice.start,
                *candidate.start,
                *candidate.step_ms,
                candidate.memory_gb,
                *(count if math.isfinite(count) else None for count in steps),
            )
        )
    return rows
