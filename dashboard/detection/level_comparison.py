"""Two levels side by side: changed, unchanged, or not known yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.detection.points import Settings, Unit
from dashboard.detection.tables import Floats

TRIMMED = 0.2
"""Share of the points that is left out at each end of a side (Yuen 1974)."""
ENOUGH_TO_TRIM = 5
"""Points a side from which that leaves out one at each end."""


@dataclass(frozen=True, slots=True)
class LevelComparison:
    """Result of a comparison. state "unknown": measure more.

    effect, low, high: new minus base with its interval, in `unit`: percent of the base, or the
        plain difference where the base is 0, for counts and for status words.
    """

    state: Literal["changed", "unchanged", "unknown"]
    effect: float
    low: float
    high: float
    unit: Unit


def compare_levels(
    base: Sequence[float],
    new: Sequence[float],
    settings: Settings,
    confidence: float = 0.95,
) -> LevelComparison:
    """Compare two sets of values of one metric that were not measured in turn.

    "unchanged": the whole interval lies within the threshold. "changed": the interval excludes 0
    and the effect reaches the threshold. Everything between is "unknown". Counts and status words
    have a threshold of 0. The replicate is what the caller passes: samples of one process say
    nothing of the spread between processes.

    The interval is Yuen's (1974): Welch's with 20% trimmed off each end, so that outliers are no
    effect; below 5 points a side nothing is trimmed. A side of one point has none. Where each side
    holds a single exact value (memory, counts, status words), the values are compared as they are.
    Raises ValueError for an empty side.
    """
    if not base or not new:
        raise ValueError(
            "compare_levels needs at least one point on each side; there is nothing to compare"
        )
    base_values, new_values = np.array(base, dtype=float), np.array(new, dtype=float)
    if _are_exact(base_values, new_values, settings):
        difference = float(new_values[0] - base_values[0])
        interval = (difference, difference, difference)
    elif min(len(base), len(new)) > 1:
        interval = _welch_interval(base_values, new_values, confidence)
    else:
        interval = (float(np.mean(new_values) - np.mean(base_values)), -inf, inf)

    unit: Unit
    # Percent mean nothing for counts, words, and a level of 0: every difference counts there
    middle = abs(float(np.mean(base_values)))
    if settings.kind in ("count", "status") or middle == 0:
        threshold, unit, scale = 0.0, "difference", 1.0
    else:
        threshold, unit, scale = settings.threshold_percent, "percent", 100 / middle
    effect, low, high = (end * scale for end in interval)
    if (low > 0 or high < 0) and abs(effect) >= threshold:
        return LevelComparison("changed", effect, low, high, unit)
    if -threshold <= low and high <= threshold:
        return LevelComparison("unchanged", effect, low, high, unit)
    return LevelComparison("unknown", effect, low, high, unit)


def _are_exact(base: Floats, new: Floats, settings: Settings) -> bool:
    """Test whether each side holds one value. One point shows that only where the kind does."""
    if np.ptp(base) > 0 or np.ptp(new) > 0:
        return False
    return settings.kind != "continuous" or min(len(base), len(new)) > 1


def _welch_interval(base: Floats, new: Floats, confidence: float) -> tuple[float, float, float]:
    """New minus base with its interval, in the metric's unit; trimmed where there are enough."""
    # Welch: the sides' variances may differ. Yuen: the same of trimmed means
    trim = TRIMMED if min(len(base), len(new)) >= ENOUGH_TO_TRIM else 0.0
    test = scipy.stats.ttest_ind(new, base, equal_var=False, trim=trim)
    interval = test.confidence_interval(confidence)
    middle = (interval.low + interval.high) / 2
    return float(middle), float(interval.low), float(interval.high)
