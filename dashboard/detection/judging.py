"""Two levels side by side: changed, unchanged, or not known yet."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import inf
from typing import Literal

import numpy as np
from scipy.stats import norm, ttest_ind

from dashboard.detection.points import Point, Settings, Unit
from dashboard.detection.tables import Floats

TRIMMED = 0.2
ENOUGH_TO_TRIM = 5


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a comparison says. state "unknown": measure more.

    effect, low, high: new minus base with its interval, in `unit`: percent of the base, or the
    plain difference where the base is 0, for counts and for status words.
    """

    state: Literal["changed", "unchanged", "unknown"]
    effect: float
    low: float
    high: float
    unit: Unit


def judge(
    base: Sequence[Point | float],
    new: Sequence[Point | float],
    settings: Settings,
    confidence: float = 0.95,
) -> Judgement:
    """Compare two sets of points (or of plain samples) of one metric.

    "unchanged": the whole interval lies within the threshold. "changed": the interval excludes 0
    and the effect reaches the threshold. Everything between is "unknown". Counts and status words
    have a threshold of 0. The replicate is what the caller passes: samples of one process say
    nothing of the spread between processes.

    The interval is Yuen's (1974): Welch's with 20 % trimmed off each end, so that outliers are no
    effect; below 5 points a side nothing is trimmed. A side of one point has the point's own
    interval, or none. Where each side holds a single exact value (memory, counts, status words),
    the values are compared as they are. Raises ValueError for an empty side.
    """
    if not base or not new:
        raise ValueError("judge needs at least one point on each side; there is nothing to compare")
    olds, news = values(base), values(new)
    exact = (
        np.ptp(olds) == 0
        and np.ptp(news) == 0
        and (settings.kind != "continuous" or min(len(olds), len(news)) > 1)
    )
    if exact:
        difference = float(news[0] - olds[0])
        effect = low = high = difference
    else:
        effect, low, high = difference_of(olds, news, spread(base), spread(new), confidence)
    middle = abs(float(np.mean(olds)))
    plain = settings.kind in ("count", "status") or middle == 0
    factor = 1.0 if plain else 100 / middle
    threshold = 0.0 if plain else settings.threshold_percent
    return decided(
        effect * factor,
        low * factor,
        high * factor,
        threshold,
        "difference" if plain else "percent",
    )


def decided(effect: float, low: float, high: float, threshold: float, unit: Unit) -> Judgement:
    """The state that an interval and a threshold make."""
    if (low > 0 or high < 0) and abs(effect) >= threshold:
        return Judgement("changed", effect, low, high, unit)
    inside = -threshold <= low and high <= threshold
    return Judgement("unchanged" if inside else "unknown", effect, low, high, unit)


def difference_of(
    base: Floats,
    new: Floats,
    base_spread: float | None,
    new_spread: float | None,
    confidence: float,
) -> tuple[float, float, float]:
    """New minus base with its interval, in the metric's unit."""
    if min(len(base), len(new)) > 1:
        trim = TRIMMED if min(len(base), len(new)) >= ENOUGH_TO_TRIM else 0.0
        tested = ttest_ind(new, base, equal_var=False, trim=trim)
        interval = tested.confidence_interval(confidence)
        return float((interval.low + interval.high) / 2), float(interval.low), float(interval.high)
    effect = float(np.mean(new) - np.mean(base))
    if base_spread is None or new_spread is None:
        return effect, -inf, inf
    reach = float(norm.ppf(0.5 + confidence / 2)) * float(np.hypot(base_spread, new_spread))
    return effect, effect - reach, effect + reach


def values(points: Sequence[Point | float]) -> Floats:
    """The plain values."""
    return np.array(
        [point.value if isinstance(point, Point) else point for point in points], dtype=float
    )


def spread(points: Sequence[Point | float]) -> float | None:
    """Standard error of the mean of one side; None if nothing tells it."""
    if len(points) > 1:
        return float(np.std(values(points), ddof=1) / np.sqrt(len(points)))
    point = points[0]
    return point.spread if isinstance(point, Point) and point.ci_low is not None else None
