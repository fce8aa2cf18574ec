"""Reads of the API: catalog, series, data, jobs, samples, alerts."""

import math
from datetime import timedelta

import pytest

from tests.builders import alerting, site
from tests.builders.api import Caller, names, token

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(token("read"))


def test_catalog_has_what_workers_brought(caller: Caller) -> None:
    site.worker()
    assert caller.get("benchmarks/" + site.MLP)["default_configs"] == ["eager", "inductor"]
    assert names(caller.all("benchmarks", family="llm"), "name") == [site.GPT2, site.GPT2_STANDARD]
    assert names(caller.all("configs"), "name") == ["eager", "inductor", "regional"]


def test_build_is_found_by_its_label(caller: Caller) -> None:
    site.track()
    assert caller.get("builds/2.13.0+cpu")["version"] == site.BUILD
    assert caller.all("tracks")[0]["build"] == site.BUILD


def test_metric_has_its_unit_and_direction(caller: Caller) -> None:
    latency = caller.get("metrics")[0]
    assert latency["key"] == "latency_ms"
    assert latency["unit"] == "ms"
    assert latency["lower_is_better"]


def test_series_has_its_newest_build_and_its_page(caller: Caller) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    alerting.measure({"latency_ms": 3.0}, 1)
    [found] = caller.all(
        "series",
        benchmark=site.MLP,
        config="inductor",
        metric="latency_ms",
    )
    assert found["value"] == pytest.approx(math.sqrt(6))  # of both processes
    assert found["build"] == site.BUILD
    assert found["count"] == 2
    assert found["unit"] == "ms"
    assert (
        "/series/mlp.smoke.inference.float32.static.b64/?machine=cpu-2c&track=local" in found["url"]
    )


def test_data_of_a_series_come_oldest_first_with_their_failures(caller: Caller) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    alerting.measure(None, 1)
    alerting.measure({"latency_ms": 3.0}, 2)
    [series] = caller.all("series", metric="latency_ms")
    data = caller.all(f"series/{series['id']}/data", page_size=2)
    assert [(datum["value"], datum["status"]) for datum in data] == [
        (2.0, "pass"),
        (None, "timeout"),
        (3.0, "pass"),
    ]


def test_data_are_narrowed_by_time_and_status(caller: Caller) -> None:
    for hour in range(3):
        alerting.measure({"latency_ms": float(hour + 1)}, hour)
    [series] = caller.all("series", metric="latency_ms")
    since = (alerting.FIRST + timedelta(minutes=30)).isoformat()
    until = (alerting.FIRST + timedelta(minutes=90)).isoformat()
    path = f"series/{series['id']}/data"
    assert names(caller.all(path, since=since, until=until), "value") == [2.0]
    assert caller.all(path, status="oom") == []


def test_figure_is_valid_for_plotly(caller: Caller) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    figure = caller.get(f"benchmarks/{site.MLP}/figure", metric="latency_ms", config="inductor")
    assert figure["layout"]["yaxis"]["title"]["text"] == "Latency, ms"
    assert [2.0] in [trace["y"] for trace in figure["data"]]


def test_job_has_its_result_and_the_command_to_repeat_it(caller: Caller) -> None:
    job = alerting.measure({"latency_ms": 2.0}, 0)
    document = caller.get(f"jobs/{job.pk}")
    assert document["result"]["metrics"]["latency_ms"]["value"] == 2.0
    assert "benchmarks_suite run job.json" in document["reproduce"]


def test_raw_samples_of_a_job_are_grouped_by_arm(caller: Caller) -> None:
    job = alerting.measure({"latency_ms": 2.0}, 0)
    [eager] = caller.get(f"jobs/{job.pk}/samples")
    assert eager["arm"] == "eager"
    assert eager["values"] == [2.0, 2.1, 1.9]


def test_jobs_are_narrowed_by_run_and_status(caller: Caller) -> None:
    failed = alerting.measure(None, 0)
    alerting.measure({"latency_ms": 2.0}, 1)
    assert names(caller.all("jobs", status="timeout"), "id") == [str(failed.pk)]
    assert names(caller.all("jobs", run=failed.run_id), "id") == [str(failed.pk)]


def test_alerts_are_filtered_as_on_their_page(caller: Caller) -> None:
    alerting.group(title="open")
    alerting.group(title="closed", state="fixed")
    alerting.group(title="better", direction="improvement")
    assert names(caller.all("alerts"), "title") == ["open"]
    assert names(caller.all("alerts", state="all", direction="all"), "title") == [
        "better",
        "closed",
        "open",
    ]


def test_unknown_filter_of_alerts_is_refused_with_similar_names(caller: Caller) -> None:
    assert "Did you mean high?" in caller.get("alerts", expect=422, severity="hihg")["detail"]


@pytest.mark.parametrize(
    ("path", "name", "message"),
    [
        ("series", "modell", "Did you mean model"),
        ("jobs", "foo", "Known: "),
        ("metrics", "foo", "this call has none"),
        ("alerts", "severty", "Did you mean severity?"),
    ],
)
def test_unknown_parameter_is_refused(caller: Caller, path: str, name: str, message: str) -> None:
    error = caller.get(path, expect=422, **{name: "x"})
    assert error["detail"].startswith(f"Unknown parameter '{name}'")
    assert message in error["detail"]


@pytest.mark.parametrize("query", ["metric=a&metric=b", "page_size=1&page_size=2&metric=a"])
def test_second_value_where_one_counts_is_refused(caller: Caller, query: str) -> None:
    assert "has 2 values: it takes one" in caller.get(f"series?{query}", expect=422)["detail"]


def test_parameter_of_several_values_takes_them(caller: Caller) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    caller.get(f"benchmarks/{site.MLP}/figure?config=eager&config=inductor")


@pytest.mark.parametrize("name", ["metric", "second"])
def test_figure_of_an_unknown_metric_is_refused(caller: Caller, name: str) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    path = f"benchmarks/{site.MLP}/figure"
    assert "latency_ms" in caller.get(path, expect=422, **{name: "latncy_ms"})["detail"]


def test_figure_is_drawn_as_the_address_of_its_page_says(caller: Caller) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    figure = caller.get(f"benchmarks/{site.MLP}/figure?scale=log&from=2020-01-01")
    assert figure["layout"]["yaxis"]["type"] == "log"


def test_alert_describes_its_change_in_words_and_numbers(caller: Caller) -> None:
    group = alerting.group()
    alerting.alert(group)
    document = caller.get(f"alerts/{group.pk}")
    [change] = document["changes"]
    assert "6.2% slower (5.1 to 7.4%)" in change["sentence"]
    assert change["effect"] == 6.2
    assert change["unit"] == "percent"
    assert document["series"] == 1


def test_site_without_results_compares_nothing(caller: Caller) -> None:
    refused = caller.get("compare", expect=404, base="2.11.0", new="2.13.0")
    assert "there is nothing to compare" in refused["detail"]
