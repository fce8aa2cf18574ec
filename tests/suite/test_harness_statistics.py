"""Intervals cover what they claim to, also where sampling stopped because of them."""

import math
import random
from collections.abc import Callable

import pytest

from benchmarks_suite.harness import statistics
from benchmarks_suite.harness.statistics import Interval

Noise = Callable[[random.Random], float]


def _t3(draw: random.Random) -> float:
    return draw.gauss() / math.sqrt(sum(draw.gauss() ** 2 for _ in range(3)) / 3)


def _two_modes(draw: random.Random) -> float:
    return draw.choice([-1.0, 1.0]) + draw.gauss(0, 0.3)  # median 0, where there is almost nothing


def _outliers(draw: random.Random) -> float:
    far = draw.choices([-30, 0, 30], weights=[2, 96, 2])[0]
    return draw.gauss() + far


NOISES: dict[str, Noise] = {
    "gauss": random.Random.gauss,
    "t3": _t3,
    "two modes": _two_modes,
    "outliers": _outliers,
}


def stopped_interval(
    noise: Noise,
    draw: random.Random,
    target: float,
    most: int = 400,
) -> Interval:
    """Samples until the half width is at most ``target``; looks as often as timing.sample."""
    values: list[float] = []
    look_at = 20
    while len(values) < most:
        values.append(noise(draw))
        if len(values) >= look_at:
            interval = statistics.median_interval(values)
            if (interval.high - interval.low) / 2 <= target:
                return interval
            look_at = len(values) + max(2, len(values) // 20)
    return statistics.median_interval(values)


def share_covering(intervals: list[Interval], value: float) -> float:
    return sum(interval.low <= value <= interval.high for interval in intervals) / len(intervals)


@pytest.mark.parametrize("noise", NOISES)
@pytest.mark.parametrize("target", [0.8, 0.3])
def test_the_interval_covers_the_median_although_sampling_stops_when_it_is_narrow(
    noise: str, target: float
) -> None:
    draw = random.Random(f"{noise}{target}")
    intervals = [stopped_interval(NOISES[noise], draw, target) for _ in range(400)]
    # 400 runs: two standard errors of 0.95 are 0.022
    assert share_covering(intervals, 0) >= 0.95 - 0.02


def test_a_fixed_sample_interval_would_not_cover_under_that_stopping() -> None:
    """Why a confidence sequence: the usual binomial interval misses too often."""
    draw = random.Random(1)
    missed = sum(misses_once(draw) for _ in range(200))
    assert missed / 200 > 0.10


def misses_once(draw: random.Random) -> bool:
    """Whether the binomial interval misses the median at any look, up to 400 values."""
    values = [draw.gauss() for _ in range(20)]
    while len(values) < 400:
        interval = statistics.percentile_interval(values, 0.5)
        if interval.low > 0 or interval.high < 0:
            return True
        values += [draw.gauss() for _ in range(10)]
    return False


def test_few_samples_bound_nothing() -> None:
    assert statistics.median_interval([1.0] * 8).high == math.inf


def test_a_hundred_samples_bound_the_median_by_their_middle_third() -> None:
    interval = statistics.median_interval(list(map(float, range(100))))
    assert 30 <= interval.low <= 40
    assert 60 <= interval.high <= 70


def test_equal_samples_have_no_width() -> None:
    assert statistics.median_interval([2.0] * 50).half_width_percent == 0


def test_a_falling_function_changes_the_ends() -> None:
    mapped = statistics.mapped(Interval(4.0, 2.0, 8.0, 9), lambda x: 8 / x)
    assert mapped == Interval(2.0, 1.0, 4.0, 9)


def test_an_interval_without_ends_stays_without_ends() -> None:
    assert statistics.mapped(Interval(4.0, -math.inf, math.inf, 9), math.exp).low == -math.inf


@pytest.mark.parametrize(("n", "share"), [(200, 0.9), (1000, 0.99)])
def test_the_percentile_interval_covers_the_percentile(n: int, share: float) -> None:
    draw = random.Random(n)
    intervals = []
    for _ in range(300):
        values = [draw.random() for _ in range(n)]
        intervals.append(statistics.percentile_interval(values, share))
    assert share_covering(intervals, share) >= 0.92


def test_too_few_values_above_a_percentile_leave_it_open() -> None:
    values = list(map(float, range(20)))
    assert statistics.percentile_interval(values, 0.99).high == math.inf


def test_break_even_is_where_the_saved_time_has_paid_for_the_start() -> None:
    steps = statistics.break_even(
        cold_start_s=10.0, compiled_ms=10.0, saved_ms=Interval(5.0, 4.0, 6.0, 100)
    )
    assert steps is not None
    assert steps.value == pytest.approx(9990 / 5)
    assert [steps.low, steps.high] == pytest.approx([9990 / 6, 9990 / 4])


def test_break_even_may_never_come() -> None:
    assert statistics.break_even(10.0, 10.0, Interval(-1.0, -2.0, -0.5, 100)) is None


def test_break_even_has_no_upper_end_where_zero_saving_is_not_excluded() -> None:
    steps = statistics.break_even(10.0, 10.0, Interval(1.0, -1.0, 2.0, 100))
    assert steps is not None
    assert steps.high == math.inf
