"""The advice as rows for programs: a break-even is known, not known, or there is none."""

from typing import Any

from dashboard.advisor.core.advice_export import EXPORT_FIELDS, export_rows
from dashboard.comparisons.core.running_costs import Option
from tests.dashboard.advisor.test_advice import (
    INDUCTOR,
    REGIONAL,
    make_advice,
    measured,
    option,
    vague,
)


def exported(config: Option) -> dict[str, Any]:
    """The row of a config next to eager."""
    _, row = export_rows(make_advice(config))
    return dict(zip(EXPORT_FIELDS, row, strict=True))


def test_known_break_even_has_its_number_and_interval() -> None:
    row = exported(REGIONAL)
    assert row["ahead_from"] == "known"
    assert row["ahead_from_low"] < row["ahead_from_steps"] < row["ahead_from_high"]


def test_break_even_that_is_not_known_has_its_interval_alone() -> None:
    row = exported(vague("inductor", 50, 40))
    assert row["ahead_from"] == "not known"
    assert row["ahead_from_steps"] is None
    assert row["ahead_from_low"] < row["ahead_from_high"]


def test_config_that_is_not_faster_is_never_ahead() -> None:
    row = exported(option("inductor", 101, 5))
    assert row["ahead_from"] == "never"
    assert row["ahead_from_steps"] is None


def test_config_that_may_be_faster_is_not_said_to_be_never_ahead() -> None:
    levels = {**INDUCTOR.levels, "speedup": measured(2.0, error=0.5)}
    assert exported(Option("inductor", 1, levels))["ahead_from"] == "not known"
