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
    "ahead_from",
)


def total_times(advice: Advice) -> list[tuple[int, list[Interval]]]:
    """For several numbers of steps the seconds of each candidate."""
    rows = []
    for steps in _TABLE_STEPS:
        rows.append((steps, [candidate.seconds(steps) for candidate in advice.candidates]))
    return rows


def export_rows(advice: Advice) -> list[Sequence[Any]]:
    """Every candidate in the order of EXPORT_FIELDS."""
    rows: list[Sequence[Any]] = []
    for candidate in advice.candidates:
        rows.append(
            (
                candidate.config,
                advice.start,
                *candidate.start,
                *candidate.step_ms,
                candidate.memory_gb,
                *_ahead_from(advice, candidate.config),
            )
        )
    return rows


def _ahead_from(
    advice: Advice, config: str
) -> tuple[float | None, float | None, float | None, str]:
    """From how many steps on, the ends of its interval, and whether that is known, not known or
    never. An end that is infinite, and a number that says nothing, is left empty.
    """
    for step_range in advice.ranges:
        if step_range.config == config:
            value, low, high = step_range.from_steps
            if step_range.is_known:
                return value, low, high, "known"
            return None, low, high if math.isfinite(high) else None, "not known"
    # Whose step may be shorter may be ahead in the long run
    is_doubtful = any(doubt.config == config for doubt in advice.doubts)
    return None, None, None, "not known" if is_doubtful else "never"
