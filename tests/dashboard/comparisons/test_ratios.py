"""Ratios with intervals that keep their promise: from few repeats of many cases."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.comparisons.core.levels import Level, level_of, merge_levels
from dashboard.comparisons.core.ratios import Ratio, estimate_ratios, geomean, variance_prior


def simulated(rng: np.random.Generator, repeats: int, true: list[float]) -> list[Ratio]:
    """Cases whose processes differ by about 1 %, each case by its own, with heavy tails."""
    spread = 0.01 * np.exp(rng.normal(0, 0.5, len(true)))

    def processes(middle: float, sd: float) -> Level:
        noise = sd * rng.standard_t(5, repeats) / math.sqrt(5 / 3)
        return level_of([float(value) for value in np.exp(middle + noise)])

    base = [processes(0.0, sd) for sd in spread]
    return estimate_ratios(
        base, [processes(middle, sd) for middle, sd in zip(true, spread, strict=True)]
    )


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_19_of_20_intervals_hold_the_true_change_of_their_case_and_of_the_mean(
    repeats: int,
) -> None:
    rng, held, mean_held = np.random.default_rng(repeats), [], []
    for _ in range(150):
        true = rng.normal(0, 0.03, 30).tolist()
        found = simulated(rng, repeats, true)
        held += [
            abs(ratio.log - middle) <= ratio.reach
            for ratio, middle in zip(found, true, strict=True)
        ]
        mean = geomean(found)
        assert mean
        mean_held.append(abs(mean.log - float(np.mean(true))) <= mean.reach)
    assert 0.935 < np.mean(held) < 0.97
    assert 0.88 < np.mean(mean_held) <= 1.0


def test_two_repeats_among_many_cases_give_an_interval_four_times_narrower_than_alone() -> None:
    rng = np.random.default_rng(5)
    many = simulated(rng, 2, [0.0] * 30)
    alone = estimate_ratios([level_of([1.0, 1.01])], [level_of([1.0, 1.01])])
    assert np.median([ratio.reach for ratio in many]) * 1.5 < alone[0].reach


def test_a_case_without_repeats_borrows_the_spread_of_the_others() -> None:
    repeated = [level_of([1.0, 1.01 + number / 1000]) for number in range(8)]
    found = estimate_ratios([*repeated, level_of([1.0])], [*repeated, level_of([1.1])])
    assert [ratio.basis for ratio in found] == ["repeats"] * 8 + ["borrowed"]
    assert found[-1].is_known


def test_without_any_repeats_the_interval_is_of_one_process_each() -> None:
    [found] = estimate_ratios([level_of([1.0], [0.01])], [level_of([1.1], [0.01])])
    assert found.basis == "within"
    assert found.reach == pytest.approx(1.96 * 0.01 * math.sqrt(2), rel=1e-3)


def test_without_any_spread_known_there_is_no_interval() -> None:
    [found] = estimate_ratios([level_of([1.0])], [level_of([1.1])])
    assert (found.basis, found.is_known) == ("none", False)


def test_the_error_is_at_least_what_the_samples_within_a_process_say() -> None:
    same, unsure = level_of([1.0, 1.0]), level_of([1.0, 1.0], [0.02, 0.02])
    assert estimate_ratios([same], [same])[0].error == 0
    assert estimate_ratios([same], [unsure])[0].error == pytest.approx(0.02 / math.sqrt(2))


def test_more_noise_within_a_process_never_makes_an_interval_narrower() -> None:
    repeated = [level_of((1.0, 1.0 + spread)) for spread in (0.001, 0.002, 0.05, 0.4)]
    reaches = []
    for error in (0.001, 0.01, 0.03, 0.1):
        once = level_of((1.0,), (error,))
        reaches.append(estimate_ratios([*repeated, once], [*repeated, once])[-1].reach)
    assert reaches == sorted(reaches)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=9), st.integers(1, 8))
def test_a_level_is_the_same_from_its_parts(values: list[float], cut: int) -> None:
    first, rest = values[: min(cut, len(values) - 1)], values[min(cut, len(values) - 1) :]
    whole, parts = level_of(values), merge_levels([level_of(first), level_of(rest)])
    assert parts.n == whole.n
    assert (parts.mean, parts.m2) == pytest.approx((whole.mean, whole.m2), abs=1e-9)


def test_variances_of_equal_cases_are_moderated_fully_and_of_few_cases_not_at_all() -> None:
    drawn = np.random.default_rng(1).chisquare(2, 400) / 2
    variance, freedom = variance_prior(drawn, np.full(400, 2.0))
    assert variance == pytest.approx(1, rel=0.15)
    assert freedom > 10
    assert variance_prior(drawn[:3], np.full(3, 2.0)) == (0.0, 0.0)


def test_a_geomean_of_nothing_is_nothing_and_that_of_one_case_is_the_case() -> None:
    assert geomean([]) is None
    one, *_ = simulated(np.random.default_rng(6), 2, [0.0] * 8)
    assert geomean([one]) == one
