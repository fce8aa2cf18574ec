"""A trend in two metrics above each other, and the answers that stand above it."""

from typing import Any

import pytest
from django.test import Client

from dashboard.models import DetectorState
from dashboard.results.services.ingest import ingest
from tests.builders import alerting, site
from tests.builders.reading import text

URL = f"/series/{site.MLP}/"


@pytest.fixture
def measured(db: None) -> None:
    """Two builds, of which the first has no cold start."""
    worker = site.worker()
    for build, values in (
        ("2.12.0", {"latency_ms": 2.0}),
        ("2.13.0", {"latency_ms": 1.0, "cold_start_s": 12.5}),
    ):
        site.build(build)
        job = site.claim(site.queued_job(build=build), worker)
        result = site.result(job, values)
        ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))


def figure(client: Client, query: str) -> dict[str, Any]:
    answer: dict[str, Any] = client.get(f"{URL}data.json?{query}").json()
    return answer


@pytest.mark.usefixtures("measured")
def test_second_metric_has_a_chart_of_its_own(reader: Client) -> None:
    page = reader.get(f"{URL}?metric=latency_ms&second=cold_start_s").text
    assert "data.json?metric=latency_ms&amp;second=cold_start_s" in page
    assert "data.json?metric=cold_start_s&amp;second=latency_ms" in page


@pytest.mark.usefixtures("measured")
def test_charts_above_each_other_have_the_same_builds(reader: Client) -> None:
    """Alone the cold start's chart would lack the build that did not measure it."""
    above, below = (
        figure(reader, f"axis=release&metric={first}&second={second}")["layout"]["xaxis"]
        for first, second in (("latency_ms", "cold_start_s"), ("cold_start_s", "latency_ms"))
    )
    assert above["categoryarray"] == below["categoryarray"] == ["2.12.0", "2.13.0"]


@pytest.mark.usefixtures("measured")
def test_table_has_both_metrics(reader: Client) -> None:
    shown = text(reader, f"{URL}?metric=latency_ms&second=cold_start_s")
    assert "12.5 s" in shown
    assert 'title="no cold start was measured"' in shown


@pytest.mark.usefixtures("measured")
@pytest.mark.parametrize("second", ["latency_ms", "drift", "nonsense"])
def test_second_metric_that_is_the_first_or_not_measured_is_ignored(
    reader: Client, second: str
) -> None:
    page = reader.get(f"{URL}?metric=latency_ms&second={second}&axis=release").text
    assert page.count('data-figure="') == 1


@pytest.mark.usefixtures("measured")
def test_chart_below_another_has_no_legend(reader: Client) -> None:
    assert figure(reader, "legend=none")["layout"]["showlegend"] is False


# --- The answers
def answers(client: Client) -> str:
    return text(client, URL).partition('id="newest"')[2].partition("</section>")[0]


@pytest.mark.django_db
def test_answer_links_to_the_newest_alert(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 2.2])
    group = alerting.group(state="confirmed")
    alerting.alert(group, planned_at=series.last_at)
    assert f'href="/alerts/{group.pk}/"' in answers(reader)


@pytest.mark.django_db
def test_answer_says_that_no_change_was_found_and_what_would_be(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 2.0])
    DetectorState.objects.update_or_create(series=series, defaults={"can_show_percent": 1.5})
    shown = answers(reader)
    assert "None found" in shown
    assert "1.5%" in shown
