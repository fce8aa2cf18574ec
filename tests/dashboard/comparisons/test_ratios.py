"""Ratios with intervals that keep their promise: from few repeats of many cases."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.comparisons.core.levels import Level, level_of, merge_levels
from dashboard.comparisons.core.ratios import Ratio, estimate_ratios, geomean


def simulate(rng: np.random.Generator, repeats: int, true: list[float]) -> list[Ratio]:
    """Cases whose processes differ by about 1%, each case by its own, with heavy tails."""
    spread = 0.01 * np.exp(rng.normal(0, 0.5, len(true)))

    def processes(middle: float, sd: float) -> Level:
        noise = sd * rng.standard_t(5, repeats) / math.sqrt(5 / 3)
        return level_of(np.exp(middle + noise).tolist())

    base = [processes(0.0, sd) for sd in spread]
    new = [processes(middle, sd) for middle, sd in zip(true, spread, strict=True)]
    return estimate_ratios(base, new)


@pytest.mark.parametrize("repeats", [2, 3, 5])
def test_19_of_20_intervals_hold_the_true_change_of_their_case_and_of_the_mean(
    repeats: int,
) -> None:
    rng = np.random.default_rng(repeats)
    held, mean_held = [], []
    for _ in range(150):
        true = rng.normal(0, 0.03, 30).tolist()
        ratios = simulate(rng, repeats, true)
        for ratio, middle in zip(ratios, true, strict=True):
            held.append(abs(ratio.log - middle) <= ratio.reach)
        mean = geomean(ratios)
        assert mean
        mean_held.append(abs(mean.log - float(np.mean(true))) <= mean.reach)
    assert 0.935 < np.mean(held) < 0.97
    assert 0.88 < np.mean(mean_held) <= 1.0


def test_two_repeats_among_many_cases_give_a_narrower_interval_than_alone() -> None:
    many = simulate(np.random.default_rng(5), 2, [0.0] * 30)
    [alone] = estimate_ratios([level_of([1.0, 1.01])], [level_of([1.0, 1.01])])
    assert np.median([ratio.reach for ratio in many]) * 1.5 < alone.reach


def test_one_process_a_side_has_no_interval() -> None:
    repeated = [level_of([1.0, 1.01 + number / 1000]) for number in range(8)]
    ratios = estimate_ratios([*repeated, level_of([1.0], [0.01])], [*repeated, level_of([1.1])])
    assert [ratio.basis for ratio in ratios] == ["repeats"] * 8 + ["single"]
    assert not ratios[-1].is_known
    assert ratios[-1].percent == pytest.approx(10)


def test_error_is_at_least_what_the_samples_within_a_process_say() -> None:
    same, unsure = level_of([1.0, 1.0]), level_of([1.0, 1.0], [0.02, 0.02])
    assert estimate_ratios([same], [same])[0].error == 0
    [ratio] = estimate_ratios([same], [unsure])
    assert ratio.error == pytest.approx(0.02 / math.sqrt(2))


def test_more_noise_within_a_process_never_makes_an_interval_narrower() -> None:
    repeated = [level_of((1.0, 1.0 + spread)) for spread in (0.001, 0.002, 0.05, 0.4)]
    reaches = []
    for error in (0.001, 0.01, 0.03, 0.1):
        twice = level_of((1.0, 1.0), (error, error))
        ratios = estimate_ratios([*repeated, twice], [*repeated, twice])
        reaches.append(ratios[-1].reach)
    assert reaches == sorted(reaches)


@given(st.lists(st.floats(0.1, 10), min_size=2, max_size=9), st.integers(1, 8))
def test_level_is_the_same_from_its_parts(values: list[float], cut: int) -> None:
    cut = min(cut, len(values) - 1)
    whole = level_of(values)
    parts = merge_levels([level_of(values[:cut]), level_of(values[cut:])])
    assert parts.n == whole.n
    assert parts.mean == pytest.approx(whole.mean, abs=1e-9)
    assert parts.m2 == pytest.approx(whole.m2, abs=1e-9)


def test_geomean_of_nothing_is_none() -> None:
    assert geomean([]) is None


def test_geomean_of_one_case_is_the_case() -> None:
    ratio = simulate(np.random.default_rng(6), 2, [0.0] * 8)[0]
    assert geomean([ratio]) == ratio
