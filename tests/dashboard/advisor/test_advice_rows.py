"""The advisor's list: what a row says, and how rows are sorted."""

import pytest

from dashboard.advisor.core.advice_rows import AdviceRow, advice_row, ordered
from dashboard.comparisons.core.running_costs import Interval, Option
from tests.dashboard.advisor.test_advice import (
    INDUCTOR,
    REGIONAL,
    make_advice,
    measured,
    option,
    vague,
    without_start,
)


def test_row_names_the_config_of_a_long_run_and_what_comes_before() -> None:
    row = advice_row("gpt2", make_advice(REGIONAL, INDUCTOR))
    assert row.config == "inductor"
    assert row.earlier == ["regional from 500"]


def test_gain_is_how_much_shorter_a_step_is() -> None:
    gain = advice_row("gpt2", make_advice(INDUCTOR)).gain_percent
    assert gain
    assert gain.value == pytest.approx(50, abs=0.1)
    assert gain.low <= gain.value <= gain.high


def test_start_and_step_that_were_measured_once_are_said_so() -> None:
    assert advice_row("gpt2", make_advice(INDUCTOR)).evidence == "start and step in one process"


def test_eager_has_a_reason_and_no_break_even() -> None:
    row = advice_row("gpt2", make_advice(option("slow", 150, 10)))
    assert row.config == "eager"
    assert row.break_even is None
    assert row.reason == "no faster config among those measured (slow)"


def test_eager_of_several_configs_says_that_only_measured_ones_are_meant() -> None:
    row = advice_row("gpt2", make_advice(option("slow", 150, 10), option("slower", 160, 10)))
    assert row.reason == "no other measured config is faster"


def test_shorter_step_without_a_measured_start_is_named() -> None:
    options = option("slow", 150, 10), without_start("graphs", 20)
    row = advice_row("gpt2", make_advice(*options))
    assert row.reason == "no config with a measured start is faster"
    assert (
        row.unranked == "graphs: 80% shorter at the best estimate, its cold start was not measured"
    )


def test_without_a_start_nothing_is_recommended() -> None:
    row = advice_row("gpt2", make_advice(INDUCTOR, start="warm"))
    assert row.config == ""
    assert row.reason == "no warm start was measured"


def test_usual_size_is_not_said() -> None:
    row = AdviceRow("gpt2.standard.training.b16", "eager", [])
    assert row.model == "gpt2"
    assert row.variant == "training b16"


def test_break_even_whose_interval_says_nothing_is_not_known() -> None:
    row = advice_row("gpt2", make_advice(vague("inductor", 50, 40)))
    assert row.config == "inductor"
    assert row.steps == "not known"
    assert row.steps_interval == ""


def test_eager_is_not_decided_where_another_may_well_be_faster() -> None:
    levels = {**INDUCTOR.levels, "speedup": measured(2.0, error=0.5)}
    row = advice_row("gpt2", make_advice(Option("inductor", 1, levels)))
    assert not row.is_decided
    assert row.reason.startswith("inductor: 50.0% shorter, not sure")


@pytest.mark.parametrize(
    ("order", "names"),
    [
        ("", "abc"),
        ("break_even", "cab"),
        ("gain", "acb"),
        ("config", "bca"),
    ],
)
def test_rows_without_what_they_are_sorted_by_are_last(order: str, names: str) -> None:
    rows = [
        AdviceRow("a", "z", [], Interval(9, 9, 9), Interval(50, 50, 50)),
        AdviceRow("b", "eager", []),
        AdviceRow("c", "x", [], Interval(5, 5, 5), Interval(20, 20, 20)),
    ]
    assert "".join(row.benchmark for row in ordered(rows, order)) == names
