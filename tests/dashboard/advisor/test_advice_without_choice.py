"""Advice where little was measured to choose from, and on what eager is ahead of."""

import numpy as np

from dashboard.advisor.core.advice import advise
from dashboard.advisor.core.advice_text import sentence
from dashboard.comparisons.core.running_costs import Option
from tests.dashboard.advisor.test_advice import (
    eager,
    make_advice,
    measured,
    option,
    without_start,
)


def test_eager_alone_is_no_reason_to_stay_in_eager() -> None:
    assert sentence(make_advice()) == "Not known: only eager was measured."


def test_check_alone_is_no_reason_to_stay_in_eager() -> None:
    advice = make_advice(option("inductor_fullgraph", 60, 30))
    assert sentence(advice) == "Not known: besides eager only checks were measured."


def test_speedup_without_eagers_step_is_no_time() -> None:
    """As an import may have it."""
    timed = Option("inductor", 1, {"latency_ms": measured(50), "cold_start_s": measured(40)})
    ratio = Option("regional", 2, {"speedup": measured(1.5)})
    advice = advise([timed, ratio], "cold", np.random.default_rng(1))
    assert [each.reason for each in advice.left_out] == ["step"]


def test_eager_is_compared_only_with_measured_configs() -> None:
    advice = make_advice(option("inductor", 101, 5), option("regional", 102, 5))
    assert sentence(advice) == "Stay in eager: no other measured config is surely faster."


def test_eager_is_compared_only_with_configs_that_fit() -> None:
    options = [
        eager(peak_memory_gb=9.0),
        option("inductor", 101, 5, peak_memory_gb=9.0),
        option("regional", 50, 5, peak_memory_gb=30.0),
    ]
    advice = advise(options, "cold", np.random.default_rng(1), 24.0)
    assert sentence(advice) == "Stay in eager: no other measured config that fits is surely faster."


def test_eager_is_compared_only_with_configs_of_measured_start() -> None:
    advice = make_advice(option("slow", 150, 10), without_start("graphs", 20))
    assert sentence(advice) == "Stay in eager: no config with a measured start is surely faster."
