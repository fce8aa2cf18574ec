"""The figures of a family: values, changes over matched cases, and the line of a month."""

import math
from datetime import date, timedelta
from typing import Any

import pytest

from dashboard.language.metrics import METRICS
from dashboard.overview.core.summary import Day, FamilyFigure, Standing, came_in_turn, span
from dashboard.overview.templatetags.figures import figure_value, spark

FIRST = date(2026, 11, 1)
OLD, NEW = 1, 2


def day(number: int, moved: float, build: int = OLD, **fields: Any) -> Day:
    """Ten cases that moved ``moved`` in the sum of their logarithms."""
    counts = {"count": 10, "linked": 10, **fields}
    return Day(
        day=FIRST + timedelta(days=number),
        build=build,
        moved=moved,
        **counts,
    )


def figure(
    metric: str, value: float, *days: Day, cases: int = 10, build: int | None = NEW
) -> FamilyFigure:
    level = value if metric == "passed" else math.log(value)
    return FamilyFigure(METRICS[metric], [Standing(0, "2.13.0", cases, level)], days, build)


def text(change: Any) -> str:
    return change.text if change else "–"


def test_change_is_the_mean_move_of_earlier_cases() -> None:
    ten_percent_slower = figure("cold_start_s", 11.0, day(0, 10 * math.log(1.1)))
    assert text(ten_percent_slower.since_month) == "10.0% longer"


def test_new_case_does_not_shift_the_change() -> None:
    joined = figure("speedup", 1.5, day(0, 10 * math.log(1.1), count=15), cases=15)
    assert text(joined.since_month) == "10.0% higher"


def test_change_since_build_counts_the_newest_build_only() -> None:
    before, after = day(0, 10 * math.log(1.5)), day(1, 10 * math.log(0.8), build=NEW)
    start = figure("cold_start_s", 10.0, before, after)
    assert text(start.since_build) == "20.0% shorter"
    assert text(start.since_month) == "20.0% longer"


def test_half_of_the_cases_on_each_of_two_days_adds_up() -> None:
    halves = [day(number, 5 * math.log(1.1), count=5, linked=5) for number in (0, 1)]
    assert text(figure("cold_start_s", 11.0, *halves).since_month) == "10.0% longer"


def test_cases_that_all_joined_within_the_month_are_their_own_measure() -> None:
    joined = day(0, 0.0, linked=0)
    moved = day(1, 10 * math.log(1.1), build=NEW)
    assert text(figure("speedup", 1.5, joined, moved).since_month) == "10.0% higher"


def test_case_that_joined_and_moved_counts_as_one_of_those_that_moved() -> None:
    joined = day(0, 10 * math.log(1.1), count=20)
    all_of_them = day(1, 20 * math.log(1.2) - 10 * math.log(1.1), count=20, linked=20)
    both = figure("speedup", 1.5, joined, all_of_them, cases=20)
    assert text(both.since_month) == "20.0% higher"


def test_builds_in_turn_on_the_day_that_their_cases_joined() -> None:
    base = day(0, 0.0, linked=0)
    new = day(0, 10 * math.log(1.1), build=NEW)
    in_turn = figure("speedup", 1.5, base, new)
    assert text(in_turn.since_build) == text(in_turn.since_month) == "10.0% higher"


def test_change_below_the_threshold_has_no_tone() -> None:
    small = figure("speedup", 1.0, day(0, 10 * math.log(0.99))).since_month
    large = figure("speedup", 1.0, day(0, 10 * math.log(0.97))).since_month
    assert small
    assert small.tone == "none"
    assert large
    assert large.tone == "unknown"  # a mean without an error shows nothing


def test_pass_rate_changes_by_points() -> None:
    passed = figure("passed", 0.9, day(0, -1.0))
    assert figure_value(passed) == "90%"
    assert text(passed.since_month) == "10.0 points lower"


def test_single_measurement_has_no_change_and_no_line() -> None:
    fresh = figure("speedup", 1.5, day(0, 0.0, linked=0))
    assert fresh.since_month is None
    assert fresh.history == []
    assert spark(fresh) == ""


def test_small_drawing_counts_a_day_with_two_builds_once() -> None:
    drawn = spark(figure("speedup", 1.5, day(0, 0.0), day(0, 0.0, build=NEW), day(1, 0.0)))
    assert 'aria-label="Speedup on 2 days"' in drawn


def test_line_begins_before_the_first_day_and_ends_at_the_value() -> None:
    start = figure("cold_start_s", 12.0, day(0, 10 * math.log(1.2)), day(1, 0.0))
    assert start.history == pytest.approx([10.0, 12.0, 12.0])


def test_noise_below_the_threshold_is_drawn_flat() -> None:
    low, high = span([1.0, 1.001], METRICS["speedup"])
    assert 0.001 / (high - low) < 0.05


def test_value_is_of_the_newest_build_and_a_share_of_every_case() -> None:
    standing = [Standing(3, "2.11.0", 6, 0.5), Standing(1, "2.15.0", 2, 1.0)]
    speedup = FamilyFigure(METRICS["speedup"], standing, [], None)
    assert speedup.value == pytest.approx(math.e)
    assert speedup.of_build.build == "2.15.0"
    assert FamilyFigure(METRICS["passed"], standing, [], None).value == 0.625


@pytest.mark.parametrize(
    ("builds_by_day", "in_turn"),
    [
        (((OLD,), (OLD,), (NEW,)), False),
        (((OLD,), (OLD, NEW), (NEW,)), False),  # the day on which one followed the other
        (((OLD,), (NEW, NEW + 1)), False),  # two commits of one day
        (((OLD, NEW),), True),
        (((OLD,), (NEW,), (OLD,)), True),
    ],
)
def test_build_that_comes_again_is_measured_in_turn(
    builds_by_day: tuple[tuple[int, ...], ...], in_turn: bool
) -> None:
    days = [
        day(number, 0.0, build) for number, builds in enumerate(builds_by_day) for build in builds
    ]
    assert came_in_turn(days) is in_turn
