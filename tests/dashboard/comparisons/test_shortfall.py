"""Measurements still needed until a comparison can answer."""

import pytest

from dashboard.comparisons.core.judgement import judge_sides
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.shortfall import Shortfall, shortfall
from tests.builders.compared import SHIFTED, latency, samples, side


def needed(base: Side, new: Side) -> Shortfall | None:
    return shortfall(judge_sides(base, new, ["latency_ms"]))


def pairs(base: Side, new: Side) -> int:
    missing = needed(base, new)
    assert missing
    return missing.pairs


def test_answered_comparison_needs_nothing() -> None:
    assert needed(latency(), latency(values=SHIFTED, factor=1.1)) is None
    assert needed(latency(), latency(values=SHIFTED)) is None


def test_sides_that_were_not_measured_in_turn_need_the_first_pairs() -> None:
    assert pairs(latency(device="gpu-0"), latency(device="gpu-1")) == 3


def test_two_pairs_need_one_more() -> None:
    assert pairs(latency(values=(100.0, 100.1)), latency(values=(101.0, 101.2))) == 1


def test_likely_change_for_the_worse_needs_six_pairs_in_all() -> None:
    three = (100.0, 100.3, 99.8)
    assert pairs(latency(values=three), latency(values=SHIFTED[:3], factor=1.1)) == 3


@pytest.mark.parametrize(("spread", "more"), [(2.0, 6), (2.4, 14)])
def test_noisy_case_needs_the_more_the_wider_its_interval_is(spread: float, more: int) -> None:
    noisy = (100.0 - spread, 100.0 + spread, 100.0) * 2
    assert pairs(latency(values=noisy), latency(values=noisy[::-1])) == more


def test_case_whose_noise_hides_any_answer_says_what_would_be_left() -> None:
    noisy = (50.0, 150.0) * 3
    missing = needed(latency(values=noisy), latency(values=noisy[::-1]))
    assert missing
    assert missing.cases == []
    assert missing.bound > 20


def test_only_open_cases_are_measured_again() -> None:
    base = {**side({"latency_ms": samples()}, "regional"), **latency(values=(100.0,))}
    new = {**side({"latency_ms": samples(SHIFTED)}, "regional"), **latency(values=(101.0,))}
    missing = needed(base, new)
    assert missing
    assert [key.config for key in missing.cases] == ["inductor"]
