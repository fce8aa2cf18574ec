"""The figures of an alert: levels, the eager control, and the processes that confirmed it."""

from dataclasses import replace

import numpy as np
import pytest

from dashboard.alerts.core.alert_charts import (
    Step,
    change_figure,
    median_before,
    pause,
)
from dashboard.catalog.core.versions import variant_of
from dashboard.language.metrics import METRICS
from tests.builders.read_data import line

LATENCY, BREAKS = METRICS["latency_ms"], METRICS["graph_breaks"]
MEMORY = METRICS["peak_memory_gb"]


def step(of: object, index: int = 3, effect: float = 20.0, unit: str = "percent") -> Step:
    return Step(int(of.at_ms[index]), effect, effect - 2, effect + 2, unit)  # type: ignore[attr-defined]


def test_points_and_levels_are_percent_of_the_level_before() -> None:
    points = line([10.0, 10.0, 10.0, 12.0, 12.0])
    before, after, shown = change_figure(points, None, step(points), LATENCY)["data"]
    assert before["y"] == [0.0, 0.0]
    assert after["y"] == pytest.approx([20.0, 20.0])
    assert shown["y"] == pytest.approx([0, 0, 0, 20, 20])


def test_level_lines_pass_through_the_points_and_the_first_is_at_zero() -> None:
    points = line([10.0, 10.0, 16.0, 40.0, 41.0, 42.0, 10.0])
    back = replace(step(points), until_ms=int(points.at_ms[6]))
    before, after, _ = change_figure(points, None, back, LATENCY)["data"]
    assert before["y"] == [0.0, 0.0]
    assert after["y"] == pytest.approx([310.0, 310.0])
    assert after["x"][1] == points.at_ms[6]


def test_levels_end_where_the_series_changed_before_and_after() -> None:
    points = line([50.0, 50.0, 50.0, 10.0, 10.0, 20.0, 20.0, 80.0, 80.0, 80.0])
    between = replace(
        step(points, index=5), since_ms=int(points.at_ms[3]), until_ms=int(points.at_ms[7])
    )
    before, after, _ = change_figure(points, None, between, LATENCY)["data"]
    assert before["x"] == [points.at_ms[3], points.at_ms[5]]
    assert after["y"] == pytest.approx([100.0, 100.0])


def test_level_after_a_setting_is_of_points_with_the_setting_alone() -> None:
    points = line([10.0, 10.0, 10.0, 14.0, 14.0, 10.0, 10.0, 10.0])
    builds = ["2.15.0"] * 3 + ["2.15.0~scalar"] * 2 + ["2.15.0"] * 3
    of_setting = replace(step(points), variants=("", variant_of("2.15.0~scalar")))
    shown = replace(points, build=builds)
    _, after, _ = change_figure(shown, None, of_setting, LATENCY)["data"]
    assert after["y"] == pytest.approx([40.0, 40.0])
    assert after["x"][1] == points.at_ms[4]


def test_the_control_is_percent_of_its_own_level() -> None:
    points = line([10.0, 10.0, 10.0, 12.0])
    control = replace(line([40.0, 40.0, 40.0, 40.4]), name="eager control")
    shown = change_figure(points, control, step(points), LATENCY)["data"][-1]
    assert shown["name"] == "eager control"
    assert shown["y"] == pytest.approx([0, 0, 0, 1])


def test_control_with_a_level_below_zero_is_left_out() -> None:
    points = line([10.0, 10.0, 10.0, 12.0])
    control = line([-0.003, -0.003, -0.003, 0.0003], name="eager control")
    names = [
        trace["name"] for trace in change_figure(points, control, step(points), MEMORY)["data"]
    ]
    assert names == ["level before", "level after", "inductor"]


def test_level_below_zero_is_drawn_in_its_own_unit() -> None:
    points = line([-0.003, -0.003, -0.003, 0.001])
    figure = change_figure(points, None, step(points), MEMORY)
    assert list(figure["data"][-1]["y"]) == [-0.003, -0.003, -0.003, 0.001]
    assert figure["layout"]["yaxis"]["title"]["text"] == "Peak memory, GB"


def test_axis_of_values_fits_the_two_levels_and_not_other_ones() -> None:
    points = line([50.0, 50.0, 50.0, 10.0, 10.0, 11.0, 11.0, 80.0])
    between = replace(
        step(points, index=5), since_ms=int(points.at_ms[3]), until_ms=int(points.at_ms[7])
    )
    axis = change_figure(points, None, between, LATENCY)["layout"]["yaxis"]
    assert axis["range"] == pytest.approx([-0.5, 10.5])


def test_axis_of_values_shows_each_point_where_the_series_changed_once() -> None:
    points = line([10.0, 10.0, 10.0, 12.0])
    assert "range" not in change_figure(points, None, step(points), LATENCY)["layout"]["yaxis"]


def test_long_pause_is_left_out_of_the_axis_and_labelled() -> None:
    points = line([10.0] * 6)
    minutes = np.array([0, 1, 2, 200, 201, 202])
    paused = replace(points, at_ms=points.at_ms[0] + minutes * 60_000)
    layout = change_figure(paused, None, step(paused), LATENCY)["layout"]
    first = int(paused.at_ms[0])
    start, end = first + (2 * 60 + 24) * 1000, first + (200 * 60 - 24) * 1000
    assert pause(paused.at_ms) == (start, end)
    assert layout["annotations"][1]["text"] == "3 h 17 min without a point"
    assert len(layout["xaxis"]["rangebreaks"]) == 1
    ticks = ((np.array(layout["xaxis"]["tickvals"]) - first) // 60_000).tolist()
    assert ticks == [0, 2, 201]  # on both sides of the pause, and no two on a phone overlap


def test_the_axis_of_values_is_named_as_a_change() -> None:
    points = line([10.0, 10.0, 10.0, 12.0])
    title = change_figure(points, None, step(points), LATENCY)["layout"]["yaxis"]["title"]
    assert title["text"] == "change from the level before, %"


@pytest.mark.parametrize(
    "minutes",
    [
        [0, 1, 2, 3, 4, 5],
        [0, 10, 20, 45, 55, 66],
        [0, 1, 200],
    ],
)
def test_time_is_drawn_evenly_without_a_long_pause(minutes: list[int]) -> None:
    assert pause(np.array(minutes)) is None


def test_counts_are_drawn_in_their_own_unit() -> None:
    points = line([0.0, 0.0, 0.0, 2.0])
    figure = change_figure(points, None, step(points, effect=2.0, unit="difference"), BREAKS)
    assert list(figure["data"][-1]["y"]) == [0.0, 0.0, 0.0, 2.0]
    assert figure["layout"]["yaxis"]["title"]["text"] == "Graph breaks"


def test_a_first_point_has_no_level_before() -> None:
    points = line([12.0])
    assert median_before(points, step(points, index=0)) is None
    assert len(change_figure(points, None, step(points, index=0), LATENCY)["data"]) == 1


def test_the_level_before_ignores_single_outliers_and_failures() -> None:
    points = line([10.0, 99.0, float("nan"), 10.0, 10.0, 12.0])
    assert median_before(points, step(points, index=5)) == 10.0
