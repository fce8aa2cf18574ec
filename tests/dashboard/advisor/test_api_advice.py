"""The advice as the API answers it: the sentence, what each config costs, how sure that is."""

import pytest

from tests.builders import site
from tests.builders.api import Caller, token
from tests.dashboard.advisor.test_config_table import FAST, SLOW, store

PATH = f"benchmarks/{site.MLP}/advice"
pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(token("read"))


@pytest.fixture
def measured(db: None) -> None:
    """One millisecond saved at each step, for a start of one second."""
    store("eager", SLOW)
    store("inductor", FAST)


def test_advice_says_from_how_many_steps_on(caller: Caller, measured: None) -> None:
    advice = caller.get(PATH)
    assert advice["sentence"] == "Below 1,000 steps stay in eager; above, use inductor."
    [eager, inductor] = advice["ahead"]
    assert eager["config"] == "eager"
    assert inductor["low"] < inductor["from_steps"] < inductor["high"]


def test_configs_are_ranked_for_a_number_of_steps(caller: Caller, measured: None) -> None:
    advice = caller.get(PATH, steps=100_000)
    assert advice["ranking"][0]["config"] == "inductor"
    assert advice["ranking"][0]["chance"] == 1.0
    assert advice["verdict"].startswith("100,000 steps: inductor")


def test_each_cost_has_its_interval(caller: Caller, measured: None) -> None:
    inductor = caller.get(PATH)["costs"][1]
    assert inductor["start_low_s"] < inductor["start_s"] < inductor["start_high_s"]
    assert inductor["step_low_ms"] <= inductor["step_ms"] <= inductor["step_high_ms"]


def test_config_that_needs_too_much_memory_is_left_out(caller: Caller, measured: None) -> None:
    [inductor] = [
        each for each in caller.get(PATH, memory_gb=2)["unusable"] if each["config"] == "inductor"
    ]
    assert "it needs 3 GB, and 2 GB are allowed" in inductor["text"]


def test_build_without_numbers_is_refused_with_those_that_have_some(
    caller: Caller, measured: None
) -> None:
    refused = caller.get(PATH, expect=404, build="9.9.9")
    assert f"but in {site.BUILD}" in refused["detail"]


def test_unmeasured_benchmark_has_no_advice(caller: Caller) -> None:
    site.worker()
    assert "was not measured yet" in caller.get(PATH, expect=404)["detail"]


def test_break_even_whose_interval_says_nothing_is_null(caller: Caller) -> None:
    store("eager", SLOW)
    for start_s in (0.1, 12.0):
        store("inductor", {**FAST, "cold_start_s": start_s})
    advice = caller.get(PATH)
    assert "after how many steps is not known" in advice["sentence"]
    inductor = advice["ahead"][1]
    assert inductor["from_steps"] is None
    assert inductor["low"] is not None
