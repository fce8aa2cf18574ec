"""What the advisor says where too little was measured to choose from."""

import numpy as np

from dashboard.advisor.core.advice import advise
from dashboard.advisor.core.advice_text import sentence
from dashboard.comparisons.core.running_costs import Option
from tests.dashboard.advisor.test_advice import make_advice, measured, option


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
