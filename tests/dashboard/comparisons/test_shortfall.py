"""What more to measure until a comparison can answer."""

import pytest

from dashboard.comparisons.core.judgement import judge_sides
from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.shortfall import FIRST_PAIRS, Shortfall, shortfall
from tests.builders.compared import latency, samples, side


def needed(base: Side, new: Side) -> Shortfall | None:
    return shortfall(judge_sides(base, new, ["latency_ms"]))


def pairs(base: Side, new: Side) -> int:
    missing = needed(base, new)
    assert missing
    return missing.pairs


def test_answered_comparison_needs_nothing() -> None:
    assert needed(latency(), latency(factor=1.1)) is None
    assert needed(latency(), latency()) is None


def test_one_process_a_side_needs_the_first_pairs() -> None:
    assert pairs(latency(values=(100.0,)), latency(values=(101.0,))) == FIRST_PAIRS


def test_sides_that_share_no_device_need_the_first_pairs() -> None:
    assert pairs(latency(device="gpu-0"), latency(device="gpu-1")) == FIRST_PAIRS


def test_suspected_change_needs_six_processes_a_side() -> None:
    three = (100.0, 100.3, 99.8)
    assert pairs(latency(values=three), latency(values=three, factor=1.1)) == 3


@pytest.mark.parametrize(("spread", "fewest"), [(4.0, 1), (30.0, 21)])
def test_noisy_case_needs_the_more_the_wider_its_interval_is(spread: float, fewest: int) -> None:
    noisy = (100.0 - spread, 100.0 + spread) * 2
    assert pairs(latency(values=noisy), latency(values=noisy)) >= fewest


def test_case_whose_noise_hides_any_answer_is_hopeless() -> None:
    noisy = (50.0, 150.0) * 2
    missing = needed(latency(values=noisy), latency(values=noisy))
    assert missing
    assert missing.is_hopeless


def test_only_open_cases_are_measured_again() -> None:
    known = side({"latency_ms": samples()}, "regional")
    missing = needed({**known, **latency(values=(100.0,))}, {**known, **latency(values=(101.0,))})
    assert missing
    assert [key.config for key in missing.cases] == ["inductor"]
