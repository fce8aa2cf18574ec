"""What a family did together: values, changes over matched cases, and the small line of a month.
Pure.
"""

import math
from datetime import date, timedelta
from typing import Any

import pytest

from dashboard.language.metrics import METRICS
from dashboard.overview.core.summary import Day, FamilyFigure, newest_build, span
from dashboard.overview.templatetags.figures import figure_value, spark

FIRST = date(2026, 11, 1)
OLD, NEW = 1, 2


def day(number: int, moved: float, build: int = OLD, **fields: Any) -> Day:
    """Ten cases that moved ``moved`` in the sum of their logarithms."""
    return Day(
        **{
            "day": FIRST + timedelta(days=number),
            "build": build,
            "count": 10,
            "linked": 10,
            "moved": moved,
            **fields,
        }
    )


def figure(
    metric: str, value: float, *days: Day, cases: int = 10, build: int | None = NEW
) -> FamilyFigure:
    level = value if metric == "passed" else math.log(value)
    return FamilyFigure(METRICS[metric], level, cases, days, build)


def text(change: Any) -> str:
    return change.text if change else "–"


def test_a_change_is_the_mean_move_of_the_cases_that_were_there_before() -> None:
    ten_percent_slower = figure("cold_start_s", 11.0, day(0, 10 * math.log(1.1)))
    assert text(ten_percent_slower.since_month) == "10.0 % slower"


def test_a_case_that_joins_moves_nothing() -> None:
    joined = figure("speedup", 1.5, day(0, 10 * math.log(1.1), count=15), cases=15)
    assert text(joined.since_month) == "10.0 % higher"


def test_only_the_newest_build_counts_for_what_changed_with_it() -> None:
    told = figure(
        "cold_start_s", 10.0, day(0, 10 * math.log(1.5)), day(1, 10 * math.log(0.8), build=NEW)
    )
    assert text(told.since_build) == "20.0 % faster"
    assert text(told.since_month) == "20.0 % slower"


def test_halves_of_the_cases_on_two_days_move_as_much_as_all_on_one() -> None:
    half = {"count": 5, "linked": 5}
    told = figure(
        "cold_start_s", 11.0, day(0, 5 * math.log(1.1), **half), day(1, 5 * math.log(1.1), **half)
    )
    assert text(told.since_month) == "10.0 % slower"


def test_a_change_below_the_threshold_has_no_tone() -> None:
    little, much = (
        figure("speedup", 1.0, day(0, 10 * math.log(factor))).since_month for factor in (0.99, 0.97)
    )
    assert (little and little.tone) == "none"
    assert (much and much.tone) == "bad"


def test_a_pass_rate_changes_by_points() -> None:
    told = figure("passed", 0.9, day(0, -1.0))
    assert figure_value(told) == "90 %"
    assert text(told.since_month) == "10.0 points lower"


def test_what_was_measured_once_has_no_change_and_no_line() -> None:
    fresh = figure("speedup", 1.5, day(0, 0.0, linked=0))
    assert fresh.since_month is None
    assert fresh.history == []
    assert spark(fresh) == ""


def test_the_line_begins_before_the_first_day_and_ends_at_the_value() -> None:
    told = figure("cold_start_s", 12.0, day(0, 10 * math.log(1.2)), day(1, 0.0))
    assert told.history == pytest.approx([10.0, 12.0, 12.0])


def test_noise_below_the_threshold_is_drawn_flat() -> None:
    low, high = span([1.0, 1.001], METRICS["speedup"])
    assert 0.001 / (high - low) < 0.05


def test_the_newest_build_is_the_one_that_was_seen_last_for_the_first_time() -> None:
    assert newest_build([day(0, 0), day(1, 0, NEW), day(2, 0, OLD)]) == NEW


def test_a_build_without_another_before_it_is_no_new_one() -> None:
    assert newest_build([day(0, 0), day(1, 0)]) is None
