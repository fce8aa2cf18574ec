"""A trend in a window, on another scale, with its controls, raw samples and environments; and two
of its jobs.
"""

from datetime import UTC, datetime
from typing import Any

import numpy as np
import pytest
from django.test import Client

from dashboard.demo.services.generated import KEY
from dashboard.language.metrics import METRICS
from dashboard.models import Datum, Job, Track
from dashboard.results.core import job_pairs, sample_charts
from dashboard.results.core.mark_charts import Mark, MarkedLine, with_marks
from dashboard.results.services.ingest import ingest
from dashboard.ui import series_scales
from dashboard.ui.charts import series_figure
from tests.builders import pages, site
from tests.builders.read_data import line

LATENCY = METRICS["latency_ms"]


# --- Scales
# -------------------------------------------------------------------------------------------------------
def test_a_relative_trend_begins_at_the_median_of_its_first_five_values() -> None:
    scaled = series_scales.relative(line([10.0, 10.0, 99.0, 10.0, 10.0, 11.0]))
    assert scaled.value[-1] == pytest.approx(10)
    assert scaled.value[0] == 0


def test_intervals_are_scaled_with_their_values() -> None:
    scaled = series_scales.relative(
        line([10.0, 20.0], low=np.array([9.0, 19.0]), high=np.array([11.0, 21.0]))
    )
    assert scaled.high[0] - scaled.value[0] == pytest.approx(scaled.value[0] - scaled.low[0])


def test_a_trend_that_begins_at_zero_has_no_relative_scale() -> None:
    assert list(series_scales.relative(line([0.0, 0.0, 1.0])).value) == [0.0, 0.0, 1.0]


def test_a_logarithmic_axis_does_not_begin_at_zero() -> None:
    axis = series_scales.logarithmic(series_figure([line([1.0])], METRICS["graph_breaks"]))[
        "layout"
    ]["yaxis"]
    assert axis["type"] == "log"
    assert "rangemode" not in axis


# --- Raw samples and environments
# ---------------------------------------------------------------------------------
def test_the_smallest_and_the_largest_sample_of_a_job_are_shown() -> None:
    (trace,) = sample_charts.scatter(line([1.0]), {"job-0": np.arange(5000.0)})
    assert (trace["y"].min(), trace["y"].max()) == (0, 4999)
    assert len(trace["y"]) < 100


def test_a_job_whose_samples_are_gone_has_none() -> None:
    assert sample_charts.scatter(line([1.0]), {}) == []


def test_a_change_of_the_environment_is_marked_with_what_changed() -> None:
    figure = with_marks(
        series_figure([line([1.0])], LATENCY),
        [MarkedLine(line([1.0]))],
        [],
        [Mark(5, "machine.driver: 1 → 2")],
    )
    assert figure["layout"]["annotations"][-1]["hovertext"] == "machine.driver: 1 → 2"


# --- On the site
# --------------------------------------------------------------------------------------------------
@pytest.fixture
def address(db: None) -> str:
    """The trend of a benchmark with a generated history of forty nights."""
    pages.history(series=40, points=40)
    job = (
        Job.objects.select_related("benchmark").filter(config__name="inductor").latest("planned_at")
    )
    return f"/series/{job.benchmark}/"


def figure(client: Client, address: str, query: str = "") -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"{address}data.json?config=eager{query}").json()
    return found


def drawn(found: dict[str, Any], name: str = "eager") -> dict[str, Any]:
    return next(trace for trace in found["data"] if trace.get("name") == name)


def test_a_window_shows_its_points_alone_and_sets_the_axis(reader: Client, address: str) -> None:
    whole = drawn(figure(reader, address))["x"]
    start, end = (datetime.fromtimestamp(whole[at] / 1000, UTC) for at in (10, 20))
    window = f"&from={start:%Y-%m-%dT%H:%M:%S}&to={end:%Y-%m-%dT%H:%M:%S}"
    found = figure(reader, address, window)
    assert 8 <= len(drawn(found)["x"]) <= 11
    assert found["layout"]["xaxis"]["range"][0] == pytest.approx(whole[10], abs=1000)
    assert 8 <= len(reader.get(f"{address}export.json?config=eager{window}").json()["data"]) <= 11


@pytest.mark.parametrize("query", ["&from=yesterday", "&to=2026-13-45", "&scale=cubic"])
def test_what_a_window_says_in_vain_changes_nothing(
    reader: Client, address: str, query: str
) -> None:
    assert len(drawn(figure(reader, address, query))["x"]) == len(
        drawn(figure(reader, address))["x"]
    )


def test_a_relative_trend_is_told_in_percent(reader: Client, address: str) -> None:
    found = figure(reader, address, "&scale=relative")
    assert found["layout"]["yaxis"]["title"]["text"] == "Latency, change, %"
    told = [percent for percent in drawn(found)["y"] if percent is not None]  # some nights failed
    assert abs(told[0]) < 30


def test_the_eager_control_lies_under_the_trend_of_a_compiled_config(
    reader: Client, address: str
) -> None:
    found = reader.get(f"{address}controls.json?config=inductor").json()
    assert drawn(found, "eager beside inductor")["y"]
    assert "controls.json" in reader.get(f"{address}?config=inductor").text


def test_a_pinned_track_lies_under_the_trend(reader: Client, address: str) -> None:
    """Half of the points of eager, as if they had been measured on a pinned track."""
    one = Datum.objects.filter(
        series__metric="latency_ms", series__config__name="eager"
    ).select_related("series")[0]
    pinned = Track.objects.create(key="pinned-2.11", kind=Track.Kind.PINNED, build=one.build)
    copy = one.series
    copy.pk, copy.track = None, pinned
    copy.save()
    Datum.objects.create(
        series=copy,
        job_id=one.job_id,
        planned_at=one.planned_at,
        build_id=one.build_id,
        purpose="scheduled",
        status="pass",
        value=2.0,
    )
    found = reader.get(f"{address}controls.json?config=eager&track={KEY}").json()
    assert drawn(found, "eager on pinned-2.11")["x"]


def test_eager_alone_has_no_control(reader: Client, address: str) -> None:
    assert "controls.json" not in reader.get(f"{address}?config=eager").text


def test_each_config_has_a_chart_of_its_own(reader: Client, address: str) -> None:
    page = reader.get(f"{address}?config=eager&config=inductor&layout=multiples").text
    assert page.count('data-figure="') == 3  # and that of the controls


def test_raw_samples_come_on_demand(reader: Client, address: str) -> None:
    job = pages.job_with_everything()
    wanted = f"/series/{job.benchmark}/data.json?config=inductor"
    assert drawn(reader.get(f"{wanted}&samples=1").json(), "inductor samples")["y"]
    assert "inductor samples" not in reader.get(wanted).text


def test_a_new_driver_is_marked_and_a_new_build_alone_is_not(reader: Client) -> None:
    worker = site.worker()
    for number, (driver, torch) in enumerate(
        [("580.1", "2.12.0"), ("580.1", "2.13.0"), ("590.2", "2.13.0")]
    ):
        job = site.running_job(worker)
        environment = site.environment(f"{number:016}")
        environment["machine"]["driver"], environment["torch"]["version"] = driver, torch
        ingest(
            job_id=job.pk,
            worker=worker,
            body=site.delivery(job, site.result(job, environment=environment)),
        )
    found = reader.get(f"/series/{site.MLP}/data.json").json()
    told = [note["hovertext"] for note in found["layout"]["annotations"] if "hovertext" in note]
    assert told == ["machine.driver: 580.1 → 590.2"]


# --- Two jobs
# -----------------------------------------------------------------------------------------------------
def test_a_change_within_both_intervals_is_neither_good_nor_bad() -> None:
    first, second = (
        {"metrics": {"latency_ms": {"value": value, "low": 9.0, "high": 12.0}}}
        for value in (10.0, 11.0)
    )
    (pair,) = job_pairs.metric_pairs(first, second)
    assert pair.change
    assert (pair.change.text, pair.change.tone) == ("10.0 % slower", "none")


def test_a_metric_that_one_job_lacks_is_shown_without_a_change() -> None:
    (pair,) = job_pairs.metric_pairs({"metrics": {"latency_ms": {"value": 10.0}}}, {})
    assert (pair.second, pair.change) == ("–", None)


def test_code_is_compared_kind_by_kind() -> None:
    first, second = (
        {"compile": {"fingerprints": {"wrapper": "a", "kernels": kind}}} for kind in "xy"
    )
    assert job_pairs.code_kinds(first, second) == [("wrapper", True), ("kernels", False)]


def test_two_jobs_are_shown_side_by_side_the_older_first(reader: Client) -> None:
    worker = site.worker()
    uuids = []
    for latency in (2.0, 3.0):
        job = site.running_job(worker)
        ingest(
            job_id=job.pk,
            worker=worker,
            body=site.delivery(job, site.result(job, {"latency_ms": latency})),
        )
        uuids.append(job.pk)
    page = reader.get(f"/jobs/pair/?job={uuids[1]}&job={uuids[0]}").text
    assert "50.0 % slower" in page


@pytest.mark.django_db
@pytest.mark.parametrize("query", ["", "?job=x&job=y", "?job=00000000-0000-0000-0000-000000000000"])
def test_without_two_jobs_the_page_says_how_to_choose_them(reader: Client, query: str) -> None:
    assert "Choose two jobs first" in reader.get(f"/jobs/pair/{query}").text


# --- The table
# ----------------------------------------------------------------------------------------------------
def test_the_newest_rows_are_shown_and_more_of_them_when_asked_for(
    reader: Client, address: str
) -> None:
    few, more = (reader.get(f"{address}{query}").text for query in ("", "?rows=more"))
    assert few.count('name="job"') == 50 < more.count('name="job"')
    assert "Show more" in few
