"""The advisor's figure: a line for each config, a mark where one gets ahead."""

import numpy as np
import pytest

from dashboard.advisor.core import advice_charts
from tests.dashboard.advisor.test_advice import INDUCTOR, REGIONAL, make_advice, vague


def test_figure_marks_each_break_even_on_the_line_that_gets_ahead() -> None:
    advice = make_advice(REGIONAL, INDUCTOR)
    traces = advice_charts.figure(advice)["data"]
    marks = next(trace for trace in traces if trace.get("name") == "break-even")
    regional, inductor = (step_range.from_steps.value for step_range in advice.ranges[1:])
    assert list(marks["x"]) == [regional, inductor]
    assert marks["y"] == pytest.approx([0.1 * regional, 0.08 * inductor + 9.92])


def test_figure_does_not_mark_a_break_even_that_is_not_known() -> None:
    traces = advice_charts.figure(make_advice(vague("inductor", 50, 40)))["data"]
    assert "break-even" not in [trace.get("name") for trace in traces]


def test_line_of_eager_against_eager_is_one() -> None:
    traces = advice_charts.figure(make_advice(REGIONAL), relative=True)["data"]
    line = next(trace for trace in traces if trace.get("name") == "eager")
    assert np.allclose(line["y"], 1)


def test_horizon_lies_within_the_figure() -> None:
    assert advice_charts.axis(make_advice(REGIONAL), horizon=1e6)[-1] > 1e6
