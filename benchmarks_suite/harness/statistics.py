"""Medians, intervals that stay valid however sampling was stopped, percentiles.

Pure: numbers in, numbers out.
"""

import bisect
import itertools
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from statistics import median

LEVEL = 0.95
# a of the Beta(a, a) prior: the interval is narrowest, among these, at about 100 samples
_PRIOR = 6.0


@dataclass(frozen=True)
class Interval:
    """A value and its 95% interval. An end is infinite where the samples cannot bound it yet."""

    value: float
    low: float
    high: float
    n: int

    @property
    def half_width_percent(self) -> float:
        """Half of the width, in percent of the value."""
        if not self.value:
            return math.inf
        return (self.high - self.low) / 2 / abs(self.value) * 100


def median_interval(values: Sequence[float]) -> Interval:
    """The median with an interval that is valid at every sample size at once.

    It is a confidence sequence: one may look after each sample and stop when it is narrow enough,
    and it still covers the true median with at least LEVEL. Under the true median m the number
    of values at or below m is a fair coin's; for a coin the mixture likelihood ratio
    B(a + k, a + n - k) / B(a, a) * 2**n is a martingale of mean 1, so that by Ville's inequality it
    ever exceeds 1 / (1 - LEVEL) with probability at most 1 - LEVEL. The interval holds each m that
    is not yet rejected. No assumption on the shape of the noise (heavy tails, outliers, two modes);
    the values must be exchangeable around the median, which the random order of the arms within
    each pair is there for.

    Sources: H. Robbins, "Statistical methods related to the law of the iterated logarithm", Ann.
    Math. Stat. 41 (1970); S. Howard and A. Ramdas, "Sequential estimation of quantiles", Bernoulli
    28 (2022), section 3. tests/suite/test_harness_statistics.py simulates its coverage under the
    stopping rule of timing.py.
    """
    ordered, n = sorted(values), len(values)
    rejected = _rejected_count(n)
    if rejected < 0:
        return Interval(median(ordered), -math.inf, math.inf, n)
    return Interval(median(ordered), ordered[rejected], ordered[n - 1 - rejected], n)


def _rejected_count(n: int) -> int:
    """The largest k below n / 2 such that k of n values at or below m reject m as the median.

    -1 where none does. The ratio falls with k. With the k smallest values at or below m rejected,
    the lower end is the next one: ordered[k].
    """

    def not_rejected(k: int) -> bool:
        # log of B(a + k, a + n - k) / B(a, a) * 2**n
        log_ratio = _log_beta(_PRIOR + k, _PRIOR + n - k) - _log_beta(_PRIOR, _PRIOR)
        return log_ratio + n * math.log(2) < -math.log(1 - LEVEL)

    return bisect.bisect_left(range((n + 1) // 2), True, key=not_rejected) - 1


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def mapped(interval: Interval, function: Callable[[float], float]) -> Interval:
    """The interval of a monotone ``function`` of the median.

    Where the function falls, the ends change places.
    """
    value = function(interval.value)
    if not (math.isfinite(interval.low) and math.isfinite(interval.high)):
        return Interval(value, -math.inf, math.inf, interval.n)
    low, high = sorted((function(interval.low), function(interval.high)))
    return Interval(value, low, high, interval.n)


def percentile_interval(values: Sequence[float], share: float) -> Interval:
    """The ``share`` quantile (0.9: p90) by order statistics.

    With its exact binomial interval for a fixed number of values: W. Conover, "Practical
    Nonparametric Statistics", 3rd edition (1999), section 3.2. The upper end is infinite where too
    few values lie above.
    """
    ordered, n = sorted(values), len(values)
    tail = (1 - LEVEL) / 2
    cumulative = list(itertools.accumulate(_binomial(k, n, share) for k in range(n)))
    low = bisect.bisect_right(cumulative, tail) - 1
    high = bisect.bisect_left(cumulative, 1 - tail)
    return Interval(
        value=ordered[min(n - 1, math.ceil(share * n) - 1)],
        low=ordered[low] if low >= 0 else -math.inf,
        high=ordered[high] if high < n else math.inf,
        n=n,
    )


def _binomial(k: int, n: int, p: float) -> float:
    """Probability of k successes among n."""
    log_ways = math.lgamma(n + 1) - math.lgamma(k + 1) - math.lgamma(n - k + 1)
    return math.exp(log_ways + k * math.log(p) + (n - k) * math.log1p(-p))


def break_even(cold_start_s: float, compiled_ms: float, saved_ms: Interval) -> Interval | None:
    """Steps n after which cold + (n - 1) * compiled <= n * eager.

    saved_ms: the paired saving per step (eager - compiled). The start's own spread is not in the
    interval: one job has one cold start. None where the saving is not above zero: it is never paid
    back. The upper end is infinite where zero saving is not excluded.
    """
    if saved_ms.value <= 0:
        return None
    extra_ms = cold_start_s * 1000 - compiled_ms

    def steps(saved: float) -> float:
        return max(1.0, extra_ms / saved)

    low, high = -math.inf, math.inf
    if math.isfinite(saved_ms.high):
        low = steps(saved_ms.high)
    if saved_ms.low > 0:
        high = steps(saved_ms.low)
    return Interval(steps(saved_ms.value), low, high, saved_ms.n)
