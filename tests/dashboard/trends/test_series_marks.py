"""Marks and remarks on a series: on its chart, in its tables, and by anyone signed in."""

import json
from datetime import timedelta
from typing import Any

import numpy as np
import pytest
from django.test import Client
from django.utils import timezone

from dashboard.language.metrics import METRICS
from dashboard.models import Annotation, Benchmark, DetectorState
from dashboard.results.core.mark_charts import Mark, MarkedLine, with_marks
from dashboard.ui.charts import series_figure
from tests.builders import alerting, site
from tests.builders.read_data import line
from tests.builders.reading import page_text, text

LATENCY = METRICS["latency_ms"]
URL = f"/series/{site.MLP}/"


def drawn(marked: MarkedLine, *remarks: Mark) -> dict[str, Any]:
    return with_marks(series_figure([marked.valid], LATENCY), [marked], remarks)


def trace(figure: dict[str, Any], ending: str) -> dict[str, Any] | None:
    return next((trace for trace in figure["data"] if trace.get("name", "").endswith(ending)), None)


# --- On the chart
def test_levels_between_alerts_are_medians() -> None:
    points = line([10.0, 10.0, 30.0, 12.0, 12.0])
    alert = Mark(int(points.at_ms[3]), "20% slower", "/alerts/1/", worse=True)
    levels = trace(drawn(MarkedLine(points, [alert])), " level")
    assert levels
    assert [y for y in levels["y"] if not np.isnan(y)] == [10.0, 10.0, 12.0, 12.0]


def test_alert_is_a_triangle_that_links_to_its_page() -> None:
    points = line([10.0, 12.0])
    alert = Mark(int(points.at_ms[1]), "slower", "/alerts/1/", worse=True)
    mark = trace(drawn(MarkedLine(points, [alert])), " alert")
    assert mark
    assert mark["marker"]["symbol"] == ["triangle-down"]
    assert mark["customdata"] == ["/alerts/1/"]
    assert mark["y"] == [12.0]


def test_alert_at_a_failure_stands_at_the_next_value() -> None:
    points = line([10.0, float("nan"), 12.0])
    mark = trace(drawn(MarkedLine(points, [Mark(int(points.at_ms[1]), "x")])), " alert")
    assert mark
    assert mark["y"] == [12.0]


def test_invalid_point_is_hollow_and_not_part_of_the_line() -> None:
    points = line([10.0, 99.0, 10.0])
    figure = drawn(MarkedLine(points, invalid={points.job[1]: "shared"}))
    assert np.isnan(figure["data"][0]["y"]).any() or np.isnan(figure["data"][1]["y"]).any()
    hollow = trace(figure, " invalid")
    assert hollow
    assert hollow["marker"]["symbol"] == "circle-open"
    assert list(hollow["y"]) == [99.0]
    assert hollow["text"] == ["shared"]


def test_remark_label_is_cut_and_escaped() -> None:
    points = line([10.0, 11.0])
    remark = Mark(int(points.at_ms[1]), "<b>a very long remark about the machine</b>")
    figure = drawn(MarkedLine(points), remark)
    labels = [note["text"] for note in figure["layout"]["annotations"] if "✎" in note["text"]]
    assert labels == ["✎ &lt;b&gt;a very long remark a…"]


# --- On the page
@pytest.mark.django_db
def test_page_lists_alerts_mutes_and_what_the_series_can_show(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 2.2])
    group = alerting.group(state="confirmed")
    alerting.alert(group, planned_at=series.last_at)
    series.mutes.create(until=timezone.now() + timedelta(days=2), reason="known")
    DetectorState.objects.update_or_create(series=series, defaults={"can_show_percent": 1.84})
    shown = text(reader, URL)
    assert f'href="/alerts/{group.pk}/"' in shown
    assert "6.2% slower (5.1 to 7.4%)" in shown
    assert "≥ 1.8%" in shown
    assert "raises no alert until" in shown


@pytest.mark.django_db
def test_page_says_that_a_wandering_series_cannot_be_judged(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 2.2])
    limit = {"reason": "wanders", "percent": 12.3, "points": None}
    DetectorState.objects.update_or_create(series=series, defaults={"state": {"limit": limit}})
    shown = " ".join(text(reader, URL).split())
    assert "Cannot be judged" in shown
    assert "only changes of 12% or more are reported" in shown


@pytest.mark.django_db
def test_page_says_that_a_series_has_bursts_and_became_noisier(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 2.2])
    state = {
        "now": {"seen": 100},
        "limit": {"reason": "bursts", "percent": None, "points": 7},
        "noisier": {"at": "2026-11-01T03:00:00+00:00", "percent": 95.2, "seen": 100},
    }
    DetectorState.objects.update_or_create(series=series, defaults={"state": state})
    shown = " ".join(text(reader, URL).split())
    assert "None found" in shown
    assert "a change is reported after 7 points" in shown
    assert "spread +95%" in shown


@pytest.mark.django_db
def test_size_of_an_alert_on_the_page_is_the_confirmed_one(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 2.2])
    outcome = {
        "effect": 9.3,
        "low": 8.0,
        "high": 10.1,
        "unit": "percent",
        "pairs": 4,
    }
    alerting.alert(
        alerting.group(state="confirmed"),
        planned_at=series.last_at,
        confirmation="confirmed",
        decision={"confirmation": outcome},
    )
    assert "9.3% slower (8.0 to 10.1%)" in text(reader, URL)


@pytest.mark.django_db
def test_invalid_alert_is_not_marked(reader: Client) -> None:
    series = alerting.measured([2.0, 2.2])
    alerting.alert(alerting.group(state="invalid"), planned_at=series.last_at)
    page = text(reader, URL)
    assert "No change of level has been found" in page


@pytest.mark.django_db
def test_figure_marks_and_excludes_invalid_points(reader: Client) -> None:
    series = alerting.measured([2.0, 9.0, 2.0])
    series.invalid_points.create(job=series.data.get(value=9.0).job, reason="shared")
    figure = json.loads(reader.get(f"{URL}data.json").content)
    assert trace(figure, " invalid")
    page = text(reader, URL)
    assert "left out: shared" in page


@pytest.mark.django_db
def test_anyone_signed_in_adds_a_remark_and_removes_it(reader: Client) -> None:
    alerting.measured([2.0])
    reader.post(f"{URL}remarks", {"text": "new driver", "at": "2026-11-02"})
    remark = Annotation.objects.get()
    assert str(remark.by) == "reader"
    assert timezone.localtime(remark.at).date().isoformat() == "2026-11-02"
    page = text(reader, URL)
    assert "new driver" in page
    reader.post(f"{URL}remarks/{remark.pk}/remove")
    assert not Annotation.objects.exists()


@pytest.mark.django_db
def test_remark_of_another_person_stays(reader: Client) -> None:
    alerting.measured([2.0])
    benchmark = Benchmark.objects.get(name=site.MLP)
    remark = Annotation.objects.create(
        benchmark=benchmark,
        at=timezone.now(),
        text="x",
    )
    response = reader.post(f"{URL}remarks/{remark.pk}/remove", follow=True)
    assert "Only who wrote a remark" in page_text(response)
    assert Annotation.objects.exists()


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("form", "reason"),
    [
        ({"text": " ", "at": "2026-11-02"}, "is empty"),
        ({"text": "x" * 301, "at": "2026-11-02"}, "300 fit"),
        ({"text": "x", "at": "soon"}, "Say where on the time axis"),
        ({"text": "x", "at": "2026-02-31"}, "Say where on the time axis"),
    ],
)
def test_refused_remark_gets_a_reason(
    reader: Client,
    form: dict[str, str],
    reason: str,
) -> None:
    alerting.measured([2.0])
    page = page_text(reader.post(f"{URL}remarks", form, follow=True))
    assert reason in page


@pytest.mark.django_db
def test_stranger_cannot_add_a_remark(client: Client) -> None:
    alerting.measured([2.0])
    assert client.post(f"{URL}remarks", {"text": "x", "at": "2026-11-02"}).status_code == 302
    assert not Annotation.objects.exists()
