"""Two levels side by side: changed, unchanged, or not known yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.detection.points import Point, Settings, Unit
from dashboard.detection.tables import Floats

TRIMMED = 0.2
"""Share of the points that is left out at each end of a side (Yuen 1974)."""
ENOUGH_TO_TRIM = 5
"""Points a side from which that leaves out one at each end."""

Sample = Point | float


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
    base: Sequence[Sample],
    new: Sequence[Sample],
    settings: Settings,
    confidence: float = 0.95,
) -> LevelComparison:
    """Compare two sets of points (or of plain samples) of one metric.

    "unchanged": the whole interval lies within the threshold. "changed": the interval excludes 0
    and the effect reaches the threshold. Everything between is "unknown". Counts and status words
    have a threshold of 0. The replicate is what the caller passes: samples of one process say
    nothing of the spread between processes.

    The interval is Yuen's (1974): Welch's with 20% trimmed off each end, so that outliers are no
    effect; below 5 points a side nothing is trimmed. A side of one point has the point's own
    interval, or none. Where each side holds a single exact value (memory, counts, status words),
    the values are compared as they are. Raises ValueError for an empty side.
    """
    if not base or not new:
        raise ValueError(
            "compare_levels needs at least one point on each side; there is nothing to compare"
        )
    base_values, new_values = _values(base), _values(new)
    if _are_exact(base_values, new_values, settings):
        difference = float(new_values[0] - base_values[0])
        interval = (difference, difference, difference)
    elif min(len(base), len(new)) > 1:
        interval = _welch_interval(base_values, new_values, confidence)
    else:
        effect = float(np.mean(new_values) - np.mean(base_values))
        interval = _normal_interval(effect, _standard_error(base), _standard_error(new), confidence)

    # Percent mean nothing for counts, words, and a level of 0: every difference counts there
    middle = abs(float(np.mean(base_values)))
    if settings.kind in ("count", "status") or middle == 0:
        return classify_interval(*interval, threshold=0.0, unit="difference")
    effect, low, high = (end * (100 / middle) for end in interval)
    return classify_interval(
        effect, low, high, threshold=settings.threshold_percent, unit="percent"
    )


def classify_interval(
    effect: float, low: float, high: float, threshold: float, unit: Unit
) -> LevelComparison:
    """The state that an interval and a threshold make."""
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


def _normal_interval(
    effect: float, base_error: float | None, new_error: float | None, confidence: float
) -> tuple[float, float, float]:
    """The effect with its interval, from the standard error of each side, if it is known."""
    if base_error is None or new_error is None:
        return effect, -inf, inf
    # The error of a difference: sqrt(se_base² + se_new²), times the normal quantile
    quantile = float(scipy.stats.norm.ppf(0.5 + confidence / 2))
    reach = quantile * float(np.hypot(base_error, new_error))
    return effect, effect - reach, effect + reach


def _values(samples: Sequence[Sample]) -> Floats:
    """The plain values, (points,)."""
    values = [sample.value if isinstance(sample, Point) else sample for sample in samples]
    return np.array(values, dtype=float)


def _standard_error(samples: Sequence[Sample]) -> float | None:
    """Standard error of the mean of one side; None if nothing shows it."""
    if len(samples) > 1:
        return float(np.std(_values(samples), ddof=1) / np.sqrt(len(samples)))
    sample = samples[0]
    if not isinstance(sample, Point) or sample.ci_low is None:
        return None
    return sample.standard_error
