"""A trend in a window, on another scale, with its controls, raw samples and environments; and two
of its jobs.
"""

import re
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import numpy as np
import pytest
from django.test import Client

from dashboard.language.metrics import METRICS
from dashboard.models import Config, Datum, Job, Track
from dashboard.results.core import job_pairs, sample_charts
from dashboard.results.core.mark_charts import Mark, MarkedLine, with_marks
from dashboard.results.services.ingest import ingest
from dashboard.ui import series_scales
from dashboard.ui.charts import series_figure
from tests.builders import pages, site
from tests.builders.made_history import KEY
from tests.builders.read_data import DAY_MS, line
from tests.builders.reading import page_text

LATENCY = METRICS["latency_ms"]


# --- Scales
def test_relative_trend_begins_at_the_median_of_its_first_five_values() -> None:
    scaled = series_scales.relative(line([10.0, 10.0, 99.0, 10.0, 10.0, 11.0]))
    assert scaled.value[-1] == pytest.approx(10)
    assert scaled.value[0] == 0


def test_intervals_are_scaled_with_their_values() -> None:
    scaled = series_scales.relative(
        line([10.0, 20.0], low=np.array([9.0, 19.0]), high=np.array([11.0, 21.0]))
    )
    assert scaled.high[0] - scaled.value[0] == pytest.approx(scaled.value[0] - scaled.low[0])


def test_trend_that_begins_at_zero_has_no_relative_scale() -> None:
    assert list(series_scales.relative(line([0.0, 0.0, 1.0])).value) == [0.0, 0.0, 1.0]


def test_logarithmic_axis_does_not_begin_at_zero() -> None:
    plain = series_figure([line([1.0])], METRICS["graph_breaks"])
    axis = series_scales.logarithmic(plain)["layout"]["yaxis"]
    assert axis["type"] == "log"
    assert "rangemode" not in axis


# --- Raw samples and environments
def test_smallest_and_largest_sample_of_a_job_are_shown() -> None:
    (trace,) = sample_charts.scatter(line([1.0]), {"job-0": np.arange(5000.0)})
    assert trace["y"].min() == 0
    assert trace["y"].max() == 4999
    assert len(trace["y"]) < 100


def test_job_whose_samples_are_gone_has_no_trace() -> None:
    assert sample_charts.scatter(line([1.0]), {}) == []


def test_environment_change_is_marked_with_what_changed() -> None:
    move = Mark(5, "machine.driver: 1 → 2")
    plain = series_figure([line([1.0])], LATENCY)
    figure = with_marks(plain, [MarkedLine(line([1.0]))], [], [move])
    assert figure["layout"]["annotations"][-1]["hovertext"] == "machine.driver: 1 → 2"


def test_environment_changes_upon_each_other_are_one_mark() -> None:
    points = line([1.0] * 101)
    moves = [Mark(DAY_MS, "a: 1 → 2"), Mark(DAY_MS + 60_000, "<b>: 1 → 2"), Mark(50 * DAY_MS, "c")]
    figure = with_marks(series_figure([points], LATENCY), [MarkedLine(points)], [], moves)
    first, second = figure["layout"]["annotations"][-2:]
    assert first["text"] == "⚙ 2 changes"
    assert first["hovertext"] == "a: 1 → 2<br>&lt;b&gt;: 1 → 2"
    assert second["text"] == "⚙ c"
    dashed = [shape for shape in figure["layout"]["shapes"] if shape["line"]["dash"] == "longdash"]
    assert len(dashed) == 2


# --- On the site
@pytest.fixture
def address(db: None) -> str:
    """The trend of a benchmark with a generated history of forty nights."""
    pages.history(series=40, points=40)
    jobs = Job.objects.select_related("benchmark").filter(config__name="inductor")
    job = jobs.latest("planned_at")
    return f"/series/{job.benchmark}/"


def figure(client: Client, address: str, query: str = "") -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"{address}data.json?config=eager{query}").json()
    return answer


def drawn(figure: dict[str, Any], name: str = "eager") -> dict[str, Any]:
    return next(trace for trace in figure["data"] if trace.get("name") == name)


def test_window_limits_points_and_axis(reader: Client, address: str) -> None:
    whole = drawn(figure(reader, address))["x"]
    start, end = (datetime.fromtimestamp(whole[at] / 1000, UTC) for at in (10, 20))
    window = f"&from={start:%Y-%m-%dT%H:%M:%S}&to={end:%Y-%m-%dT%H:%M:%S}"
    zoomed = figure(reader, address, window)
    exported = reader.get(f"{address}export.json?config=eager{window}").json()
    assert 8 <= len(drawn(zoomed)["x"]) <= 11
    assert zoomed["layout"]["xaxis"]["range"][0] == pytest.approx(whole[10], abs=1000)
    assert 8 <= len(exported["data"]) <= 11


@pytest.mark.parametrize("query", ["&from=yesterday", "&to=2026-13-45", "&scale=cubic"])
def test_invalid_window_or_scale_changes_nothing(
    reader: Client,
    address: str,
    query: str,
) -> None:
    whole = drawn(figure(reader, address))["x"]
    assert len(drawn(figure(reader, address, query))["x"]) == len(whole)


def test_relative_trend_is_drawn_in_percent(reader: Client, address: str) -> None:
    relative = figure(reader, address, "&scale=relative")
    assert relative["layout"]["yaxis"]["title"]["text"] == "Latency, change, %"
    # Some nights failed
    first = next(percent for percent in drawn(relative)["y"] if percent is not None)
    assert abs(first) < 30


def test_trend_of_a_compiled_config_has_its_eager_control(reader: Client, address: str) -> None:
    controls = reader.get(f"{address}controls.json?config=inductor").json()
    assert drawn(controls, "eager beside inductor")["y"]
    page = reader.get(f"{address}?config=inductor").text
    assert "controls.json" in page


def test_pinned_track_is_a_control_of_the_trend(reader: Client, address: str) -> None:
    """Half of the points of eager, as if they had been measured on a pinned track."""
    eager = Datum.objects.filter(series__metric="latency_ms", series__config__name="eager")
    datum = eager.select_related("series")[0]
    pinned = Track.objects.create(
        key="pinned-2.11",
        kind=Track.Kind.PINNED,
        build=datum.build,
    )
    copy = datum.series
    copy.pk, copy.track = None, pinned
    copy.save()
    Datum.objects.create(
        series=copy,
        job_id=datum.job_id,
        planned_at=datum.planned_at,
        build_id=datum.build_id,
        purpose="scheduled",
        status="pass",
        value=2.0,
    )
    controls = reader.get(f"{address}controls.json?config=eager&track={KEY}").json()
    assert drawn(controls, "eager on pinned-2.11")["x"]


def test_eager_alone_has_no_control(reader: Client, address: str) -> None:
    page = reader.get(f"{address}?config=eager").text
    assert "controls.json" not in page


def test_each_config_has_a_chart_of_its_own(reader: Client, address: str) -> None:
    page = reader.get(f"{address}?config=eager&config=inductor&layout=multiples").text
    assert page.count('data-figure="') == 3  # and that of the controls


def test_raw_samples_are_drawn_on_request(reader: Client, address: str) -> None:
    job = pages.job_with_everything()
    address = f"/series/{job.benchmark}/data.json?config=inductor"
    assert drawn(reader.get(f"{address}&samples=1").json(), "inductor samples")["y"]
    page = reader.get(address).text
    assert "inductor samples" not in page


def test_new_driver_is_marked_but_not_a_new_build(reader: Client) -> None:
    worker = site.worker()
    nights = [
        ("580.1", "2.12.0"),
        ("580.1", "2.13.0"),
        ("590.2", "2.13.0"),
    ]
    for number, (driver, torch) in enumerate(nights):
        job = site.running_job(worker)
        environment = site.environment(f"{number:016}")
        environment["machine"]["driver"] = driver
        environment["torch"]["version"] = torch
        result = site.result(job, environment=environment)
        ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
    notes = reader.get(f"/series/{site.MLP}/data.json").json()["layout"]["annotations"]
    moves = [(note["text"], note["hovertext"]) for note in notes if "hovertext" in note]
    assert moves == [("⚙ driver changed", "machine.driver: 580.1 → 590.2")]


def test_legend_names_the_lines_at_new_builds_and_environments(
    reader: Client, address: str
) -> None:
    page = page_text(reader.get(address))
    legend = re.sub("<[^>]+>", "", page.partition("How to read this chart")[2])
    assert "Upright lines, dotted: the first point of a torch build; in long dashes: the" in legend


@pytest.fixture
def in_turn(db: None) -> str:
    """The trend of a benchmark on two builds, each measured three times, in turn."""
    worker = site.worker()
    for _ in range(3):
        for torch, latency_ms in (("2.12.0", 10.0), ("2.13.0", 15.0)):
            job = site.running_job(worker, build=site.build(torch).label)
            result = site.result(job, {"latency_ms": latency_ms})
            ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
    return f"/series/{site.MLP}/"


def test_builds_measured_in_turn_are_compared_newest_to_oldest(
    reader: Client, in_turn: str
) -> None:
    assert "the pairs of the two builds" in page_text(reader.get(in_turn))


def test_builds_measured_in_turn_are_drawn_by_release(reader: Client, in_turn: str) -> None:
    page = reader.get(in_turn).text
    assert "axis=release" in page.partition("data-figure=")[2][:200]
    by_time = reader.get(f"{in_turn}?axis=time").text
    assert "axis=time" in by_time.partition("data-figure=")[2][:200]
    assert "data-time" in by_time


def test_window_of_builds_measured_in_turn_is_drawn_by_time(reader: Client, in_turn: str) -> None:
    page = reader.get(f"{in_turn}?from=2020-01-01T00:00:00").text
    assert "axis=time" in page.partition("data-figure=")[2][:200]


def test_trend_of_one_build_after_another_is_drawn_by_time(reader: Client, address: str) -> None:
    page = reader.get(address).text
    assert "axis=time" in page.partition("data-figure=")[2][:200]
    assert "Against the build before" in page


def test_configs_of_one_colour_differ_on_the_page_as_in_the_chart(
    reader: Client, in_turn: str
) -> None:
    worker = site.worker("w2")
    job = site.running_job(worker, configs=["inductor"])
    Config.objects.filter(name="inductor").update(position=8)  # eager's colour
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, site.result(job)))
    page = reader.get(f"{in_turn}?axis=time").text
    newest = page.partition("Change of level")[2].partition("</table>")[0]
    traces = reader.get(f"{in_turn}data.json?axis=time").json()["data"]
    drawn = {trace["meta"]["slot"] for trace in traces}
    assert set(map(int, re.findall(r"slot-(\d)", newest))) == drawn
    assert len(drawn) == 2


# --- Two jobs
def test_time_of_one_process_each_is_neither_good_nor_bad() -> None:
    first, second = (
        {
            "metrics": {
                "latency_ms": {
                    "value": value,
                    "low": value - 0.1,
                    "high": value + 0.1,
                }
            }
        }
        for value in (10.0, 11.0)
    )
    (pair,) = job_pairs.metric_pairs(first, second)
    assert pair.change
    assert pair.change.text == "10.0% slower"
    assert pair.change.tone == "unknown"


@pytest.mark.parametrize(
    ("count", "tone"),
    [("generated_kernels", "none"), ("recompiles", "bad"), ("cudagraph_skips", "bad")],
)
def test_more_compile_work_is_neither_good_nor_bad(count: str, tone: str) -> None:
    first, second = ({"metrics": {count: {"value": value}}} for value in (2.0, 5.0))
    (pair,) = job_pairs.metric_pairs(first, second)
    assert pair.change
    assert pair.change.text == "3 more"
    assert pair.change.tone == tone


def test_metric_that_one_job_lacks_has_no_change() -> None:
    (pair,) = job_pairs.metric_pairs({"metrics": {"latency_ms": {"value": 10.0}}}, {})
    assert pair.second == "–"
    assert pair.change is None


def test_code_is_compared_kind_by_kind() -> None:
    first, second = (
        {"compile": {"fingerprints": {"wrapper": "a", "kernels": kind}}} for kind in "xy"
    )
    assert job_pairs.code_kinds(first, second) == [("wrapper", True), ("kernels", False)]


def two_jobs() -> list[UUID]:
    """The newer one is slower by a half."""
    worker = site.worker()
    uuids = []
    for latency in (2.0, 3.0):
        job = site.running_job(worker)
        result = site.result(job, {"latency_ms": latency})
        ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
        uuids.append(job.pk)
    return uuids


def test_two_points_of_a_trend_are_shown_with_the_older_first(reader: Client) -> None:
    older, newer = two_jobs()
    page = page_text(reader.get(f"/change/?by=age&job={newer}&job={older}"))
    assert "50.0% slower" in page
    assert "the older first" in page


def test_two_jobs_are_shown_in_the_order_of_the_address(reader: Client) -> None:
    older, newer = two_jobs()
    page = page_text(reader.get(f"/change/?job={newer}&job={older}"))
    assert "33.3% faster" in page
    assert "the newer first" in page


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["", "?job=x&job=y", "?job=00000000-0000-0000-0000-000000000000"])
def test_without_two_jobs_the_page_says_how_to_choose_them(reader: Client, query: str) -> None:
    page = reader.get(f"/change/{query}").text
    assert "Choose two jobs first" in page


# --- The table
def test_table_shows_more_rows_on_request(reader: Client, address: str) -> None:
    few, more = (reader.get(f"{address}{query}").text for query in ("", "?rows=more"))
    assert few.count('name="job"') == 50 < more.count('name="job"')
    assert "Show more" in few
