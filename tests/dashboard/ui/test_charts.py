"""Figures as plain dicts: nothing that matters is lost on the way to the browser."""

from dataclasses import replace

import numpy as np
import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.language.metrics import METRICS
from dashboard.results.core import sample_charts
from dashboard.results.core.sample_charts import ChartArm
from dashboard.ui import charts, config_looks
from dashboard.ui.downsampling import downsample
from tests.builders.read_data import DAY_MS, line

LATENCY = METRICS["latency_ms"]


def roles(figure: charts.Figure) -> list[str]:
    return [trace["meta"]["role"] for trace in figure["data"]]


def test_few_points_are_all_kept() -> None:
    values = np.arange(10.0)
    assert list(downsample(values, values, values, most=10)) == list(range(10))


@given(st.integers(0, 9_999), st.sampled_from([-50.0, 50.0]))
def test_single_spike_survives_downsampling(place: int, height: float) -> None:
    values = np.random.default_rng(1).normal(0, 1, 10_000)
    values[place] = height
    assert place in downsample(values, values, values, most=600)


def test_widest_interval_survives_downsampling() -> None:
    values = np.zeros(10_000)
    high = values + 1
    high[7_777] = 9
    assert 7_777 in downsample(values, values - 1, high, most=600)


def test_downsampling_keeps_to_its_limit() -> None:
    values = np.random.default_rng(1).normal(size=100_000)
    values[::97] = np.nan
    assert len(downsample(values, values, values, most=3_000)) <= 3_001


def test_first_and_last_point_survive_downsampling() -> None:
    values = np.zeros(10_001)
    kept = downsample(values, values, values, most=100)
    assert kept[0] == 0
    assert kept[-1] == 10_000


def test_gap_survives_downsampling() -> None:
    values = np.zeros(10_000)
    values[5_003] = np.nan
    assert 5_003 in downsample(values, values, values, most=100)


def test_failed_case_is_a_cross_below_the_trend_and_a_gap_in_it() -> None:
    figure = charts.series_figure([line([1.0, np.nan, 1.2])], LATENCY)
    failure = figure["data"][roles(figure).index("failure")]
    assert list(failure["x"]) == [DAY_MS]
    assert failure["text"] == ["oom<br>2.13.0"]
    assert np.isnan(figure["data"][roles(figure).index("line")]["y"][1])


def test_case_that_failed_with_a_number_is_marked_and_kept_in_the_trend() -> None:
    figure = charts.series_figure([line([1.0, 1.1], status=["pass", "fail_accuracy"])], LATENCY)
    assert list(figure["data"][roles(figure).index("failure")]["x"]) == [DAY_MS]
    assert list(figure["data"][roles(figure).index("line")]["y"]) == [1.0, 1.1]


def test_trend_without_failures_has_no_lane_for_them() -> None:
    assert "yaxis2" not in charts.series_figure([line([1.0, 1.1])], LATENCY)["layout"]


def test_band_does_not_bridge_a_gap() -> None:
    figure = charts.series_figure([line([1.0, 1.1, np.nan, 1.2])], LATENCY)
    band = figure["data"][roles(figure).index("band")]
    assert np.isnan(band["y"]).sum() == 2  # two polygons, each closed by a NaN
    assert list(band["y"][:4]) == pytest.approx([0.9, 1.0, 1.2, 1.1])


def test_series_without_intervals_has_no_band() -> None:
    nothing = np.full(2, np.nan)
    assert "band" not in roles(
        charts.series_figure([line([1.0, 1.1], low=nothing, high=nothing)], LATENCY)
    )


def test_confirmation_is_a_separate_mark_outside_the_trend() -> None:
    figure = charts.series_figure(
        [line([1.0, 5.0, 1.1], purpose=["scheduled", "confirmation", "scheduled"])], LATENCY
    )
    trend, mark = (trace for trace in figure["data"] if trace["meta"]["role"] == "line")
    assert list(trend["y"]) == [1.0, 1.1]
    assert list(mark["y"]) == [5.0]
    assert mark["marker"]["symbol"] == ["diamond-open"]


def test_manual_point_of_a_long_trend_keeps_its_own_symbol() -> None:
    purpose = ["scheduled"] * 200 + ["manual"]
    figure = charts.series_figure([line([1.0] * 201, purpose=purpose)], LATENCY)
    assert figure["data"][-1]["marker"]["symbol"] == ["circle-open"]


def test_every_point_knows_its_job() -> None:
    figure = charts.series_figure([line([1.0, 1.1])], LATENCY)
    assert figure["data"][roles(figure).index("line")]["customdata"] == ["job-0", "job-1"]


def test_build_is_marked_where_it_is_first_seen() -> None:
    later = line([1.0, 1.1, 1.2], build=["2.12.0", "2.13.0", "2.13.0"])
    assert charts.first_seen([later, line([1.0], build=["2.12.0"])]) == [
        (0, "2.12.0"),
        (DAY_MS, "2.13.0"),
    ]


def test_configs_have_their_own_colour_where_no_earlier_one_has_it() -> None:
    assert config_looks.slots([17, 1, 2]) == {1: 1, 2: 2, 17: 3}
    assert config_looks.slots([17]) == {17: 1}


def test_configs_of_a_figure_share_a_colour_only_where_none_is_free() -> None:
    assert sorted(config_looks.slots(range(0, 64, 8)).values()) == [*range(config_looks.SLOTS)]
    assert config_looks.slots(range(9))[8] == 0


def test_configs_of_one_colour_differ_in_dash_and_marker() -> None:
    assert config_looks.dash(1) != config_looks.dash(9)
    figure = charts.series_figure([line([1.0], position=1), line([1.0], position=9)], LATENCY)
    symbols = {trace["marker"]["symbol"][0] for trace in figure["data"] if "marker" in trace}
    assert len(symbols) == 2


def test_figure_is_json_with_null_for_a_gap() -> None:
    figure = charts.series_figure([line([1.0, np.nan])], LATENCY)
    read = orjson.loads(orjson.dumps(figure, option=orjson.OPT_SERIALIZE_NUMPY))
    assert read["data"][1]["y"] == [1.0, None]


def test_histogram_counts_every_sample() -> None:
    values = np.append(np.random.default_rng(1).normal(20, 0.1, 999), 900.0)
    figure = sample_charts.distribution_figure([ChartArm("eager", 0, values)])
    assert figure["data"][0]["y"].sum() == 1000


def test_equal_samples_still_make_a_histogram() -> None:
    figure = sample_charts.distribution_figure([ChartArm("eager", 0, np.full(5, 2.0))])
    assert figure["data"][0]["y"].sum() == 5


def test_no_samples_make_an_empty_figure() -> None:
    assert sample_charts.distribution_figure([ChartArm("eager", 0, np.array([]))])["data"] == []


def test_samples_stand_where_they_were_taken_in_the_interleaved_sequence() -> None:
    arms = [
        ChartArm("eager", 0, np.ones(2), np.array([0, 3], np.int32)),
        ChartArm("compiled", 1, np.ones(2), np.array([1, 2], np.int32)),
    ]
    assert [list(trace["x"]) for trace in sample_charts.over_time_figure(arms)["data"]] == [
        [0, 3],
        [1, 2],
    ]


def test_steps_timed_one_by_one_are_not_mixed_with_interleaved_samples() -> None:
    arms = [ChartArm("eager", 0, np.ones(3)), ChartArm("eager single", 0, np.ones(3), single=True)]
    assert [trace["name"] for trace in sample_charts.over_time_figure(arms)["data"]] == ["eager"]
    assert [trace["visible"] for trace in sample_charts.distribution_figure(arms)["data"]] == [
        True,
        "legendonly",
    ]


def test_first_point_shows_its_interval_and_stands_on_an_axis_of_hours() -> None:
    figure = charts.series_figure([line([2.0])], LATENCY)
    whiskers = next(trace["error_y"] for trace in figure["data"] if "error_y" in trace)
    assert whiskers["array"] == pytest.approx([0.1])
    assert whiskers["arrayminus"] == pytest.approx([0.1])
    low, high = figure["layout"]["xaxis"]["range"]
    assert high - low == 2 * 3_600_000


@pytest.mark.parametrize("minutes", [2, 24 * 60])
def test_points_minutes_or_days_apart_set_the_time_axis(minutes: int) -> None:
    first, second = line([1.0]), replace(line([2.0]), at_ms=line([2.0]).at_ms + 60_000 * minutes)
    assert "range" not in charts.series_figure([first, second], LATENCY)["layout"]["xaxis"]


def test_close_builds_have_a_mark_each_and_one_label() -> None:
    builds = ["2.11.0", "2.13.0", *["2.13.0"] * 38, *["2.14.0"] * 10]
    layout = charts.series_figure([line([1.0] * 50, build=builds)], LATENCY)["layout"]
    assert [annotation["text"] for annotation in layout["annotations"]] == ["2.11.0", "2.14.0"]
    assert len(layout["shapes"]) == 3
