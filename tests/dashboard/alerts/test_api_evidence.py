"""The API of an alert's evidence: how sure, why, since when; and the list that leads there."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from dashboard.alerts.selectors import alerts
from dashboard.alerts.services import confirmations
from dashboard.models import AlertGroup
from tests.builders import alerting, site
from tests.builders.api import Caller, names, token
from tests.builders.confirmations import answer, by_build, living_worker, suspected

MaxQueries = Callable[[int], AbstractContextManager[Any]]
pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(token("read"))


@pytest.fixture
def confirmed() -> AlertGroup:
    """Measured again in turn: 10% slower since 2.14.0."""
    living_worker()
    group = suspected()
    confirmations.start_due(now=timezone.now())
    answer(by_build(10.0))
    return group


def test_row_has_its_change_with_the_interval(caller: Caller) -> None:
    alerting.alert(alerting.group())
    [row] = caller.all("alerts")
    assert "6.2% slower (5.1 to 7.4%)" in row["sentence"]
    assert row["evidence_state"] == "suspected"


def test_rows_cost_no_query_each(caller: Caller, django_assert_max_num_queries: MaxQueries) -> None:
    for number in range(6):
        alerting.alert(alerting.group(), planned_at=alerting.FIRST + timedelta(hours=number))
    with django_assert_max_num_queries(12):
        assert len(caller.all("alerts")) == 6


def test_list_reads_no_logs_of_jobs(caller: Caller) -> None:
    alerting.stepped()
    with CaptureQueriesContext(connection) as queries:
        caller.all("alerts")
    assert not [query for query in queries if "log_tail" in query["sql"]]


def test_list_reads_no_points_of_decisions(caller: Caller, confirmed: AlertGroup) -> None:
    with CaptureQueriesContext(connection) as queries:
        [row] = caller.all("alerts")
    assert row["sentence"] == alerts.alerts_of([confirmed.pk])[0].sentence
    assert not [query for query in queries if '"decision",' in query["sql"]]


def test_alerts_of_the_last_week_are_listed(caller: Caller) -> None:
    alerting.group(title="new")
    old = alerting.group(title="old")
    AlertGroup.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=8))
    assert names(caller.all("alerts", opened="week"), "title") == ["new"]


def test_alerts_are_found_by_the_words_of_their_series(caller: Caller) -> None:
    alerting.alert(alerting.group(title="one"))
    alerting.group(title="other")
    assert names(caller.all("alerts", q="mlp latency"), "title") == ["one"]


def test_confirmed_alert_says_how_it_was_confirmed(caller: Caller, confirmed: AlertGroup) -> None:
    evidence = caller.get(f"alerts/{confirmed.pk}/evidence")
    assert evidence["evidence_state"] == "confirmed"
    assert "measured again in turn" in evidence["how_sure"][0]
    assert "95% interval" in evidence["how_sure"][0]


def test_suspected_alert_says_that_nobody_measured_it_again(caller: Caller) -> None:
    group = suspected()
    evidence = caller.get(f"alerts/{group.pk}/evidence")
    assert evidence["how_sure"] == [
        "It has not been confirmed by measuring both builds again in turn."
    ]
    assert evidence["since"][0] == (
        f"Last build measured without it: {group.base}; first build measured with it: {group.new}."
    )


def test_change_of_another_alert_is_not_found(caller: Caller) -> None:
    first, second = alerting.group(), alerting.group()
    alerting.alert(first)
    other = alerting.alert(second, metric="cold_start_s")
    refused = caller.get(f"alerts/{first.pk}/evidence", expect=404, change=other.pk)
    assert f"has no change {other.pk}" in refused["detail"]


def test_alert_without_a_series_has_no_evidence(caller: Caller) -> None:
    group = alerting.group()
    assert "has no series" in caller.get(f"alerts/{group.pk}/evidence", expect=404)["detail"]


def test_issue_is_written_and_not_posted(caller: Caller, confirmed: AlertGroup) -> None:
    issue = caller.get(f"alerts/{confirmed.pk}/issue")
    assert issue["title"].startswith("[torch.compile]")
    assert "### 🐛 Describe the bug" in issue["body"]
    assert issue["address"].startswith("https://github.com/pytorch/pytorch/issues/new?")


def test_series_lists_where_it_changed(caller: Caller) -> None:
    alert = alerting.stepped()
    [change] = caller.get(f"series/{alert.series_id}/changes")
    assert change["alert"] == alert.group_id
    assert change["evidence_state"] == "suspected"
    assert change["low"] < change["effect"] < change["high"]
    assert change["unit"] == "percent"


def test_change_that_was_not_reproduced_is_none_of_the_series(caller: Caller) -> None:
    alert = alerting.stepped()
    AlertGroup.objects.update(evidence_state="not_reproduced")
    assert caller.get(f"series/{alert.series_id}/changes") == []


def test_series_says_what_it_can_show(caller: Caller) -> None:
    alert = alerting.stepped()
    assert 0 < caller.get(f"series/{alert.series_id}")["can_show_percent"] < 10


def test_search_finds_what_the_box_finds(caller: Caller) -> None:
    site.worker()
    group = alerting.group(title="gpt2 got slower")
    hits = caller.get("search", q="gpt2")["hits"]
    assert ("model", "gpt2") in {(hit["kind"], hit["key"]) for hit in hits}
    assert ("alert", str(group.pk)) in {(hit["kind"], hit["key"]) for hit in hits}
    assert all(hit["url"].startswith("http") for hit in hits)
