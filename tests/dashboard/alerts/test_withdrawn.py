"""Withdrawn alerts of a group, as after points were excluded: named so, and not counted."""

import re
from datetime import timedelta

import pytest
from django.test import Client

from dashboard.alerts.selectors import alerts, inbox
from dashboard.alerts.selectors.alert_data import step_of
from dashboard.alerts.services.alert_groups import reinstate, withdraw
from dashboard.alerts.services.descriptions import describe
from dashboard.alerts.services.recovery import mark_recovered
from dashboard.models import Alert, AlertEvent, AlertGroup
from dashboard.notifications.selectors.messages import entry_of, facts_of
from tests.builders import alerting, site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
BOTH = "mlp inference: 40.0% more memory, 6.2% slower in inductor since 2.13.0"
ONE = "mlp inference: 6.2% slower in inductor since 2.13.0"


def of_two() -> tuple[AlertGroup, Alert]:
    """A group of a slower step and of more memory, of which the memory, the worse, is withdrawn."""
    group = alerting.group(base=site.build("2.12.0"), new=site.build("2.13.0"))
    alerting.alert(group)
    more = alerting.alert(group, "peak_memory_gb", effect=40.0, low=39.0, high=41.0)
    describe(groups=[group])
    assert (group.title, group.severity) == (BOTH, "high")
    withdraw(alert=more)
    group.refresh_from_db()
    return group, more


def test_title_and_severity_are_of_what_stands() -> None:
    group, _ = of_two()
    assert (group.title, group.severity) == (ONE, "medium")


def test_history_names_it_as_pages_do() -> None:
    group, _ = of_two()
    named = (
        f"{site.MLP} in inductor, Peak memory: no change any more, its points were judged again."
    )
    assert group.events.latest("pk").text == named


def test_what_is_back_is_named_again() -> None:
    group, more = of_two()
    reinstate(alert=more)
    group.refresh_from_db()
    assert (group.title, group.severity) == (BOTH, "high")


def test_group_of_which_all_is_withdrawn_keeps_its_title() -> None:
    group, _ = of_two()
    withdraw(alert=group.alerts.get(series__metric="latency_ms"))
    group.refresh_from_db()
    assert (group.title, group.state) == (ONE, "invalid")
    assert inbox.rows([group])[0].main is not None


def test_it_does_not_keep_a_group_open_whose_other_series_are_back() -> None:
    group, _ = of_two()
    slower = group.alerts.get(series__metric="latency_ms")
    slower.recovered_at = slower.planned_at + timedelta(hours=5)
    mark_recovered(alert=slower)
    group.refresh_from_db()
    assert group.state == "recovered"


def test_inbox_does_not_count_it() -> None:
    (row,) = inbox.rows([of_two()[0]])
    assert row.main is not None
    assert (row.main.metric.key, row.others) == ("latency_ms", 0)


def test_page_says_how_many_are_withdrawn_and_which(reader: Client) -> None:
    group, more = of_two()
    shown = " ".join(text(reader, group.get_absolute_url()).split())
    assert "1 series, and 1 withdrawn" in shown
    assert re.search("Withdrawn: points judged again no longer show it.*Peak memory", shown)
    of_it = text(reader, f"{group.get_absolute_url()}?alert={more.pk}")
    assert "withdrawn: its points were judged again" in of_it


def test_api_names_it_and_does_not_count_it(reader: Client) -> None:
    group, _ = of_two()
    shown = reader.get(f"/api/v1/alerts/{group.pk}").json()
    assert shown["series"] == 1
    assert [each["withdrawn"] for each in shown["changes"]] == [False, True]
    (listed,) = reader.get("/api/v1/alerts").json()["results"]
    assert listed["sentence"] == shown["sentence"]
    assert "latency" in listed["sentence"]


def test_messages_leave_it_out() -> None:
    group, _ = of_two()
    event = AlertEvent.objects.create(group=group, action="state", state="confirmed")
    assert [line.metric for line in entry_of(event).series] == ["latency_ms"]
    assert facts_of(event).metrics == {"latency_ms"}


def test_feed_and_issue_leave_it_out(reader: Client) -> None:
    group, _ = of_two()
    assert "memory" not in text(reader, "/alerts/feed/")
    assert "40.0%" not in text(reader, f"{group.get_absolute_url()}report/")


def test_series_does_not_have_it_among_its_changes() -> None:
    _, more = of_two()
    assert alerts.changes_of(more.series_id) == []


def test_it_ends_no_level_of_another_change_of_its_series() -> None:
    _, more = of_two()
    later = alerting.alert(
        alerting.group(), "peak_memory_gb", planned_at=more.planned_at + timedelta(hours=5)
    )
    assert step_of(later).since_ms is None


def test_chart_without_points_of_the_new_level_claims_no_medians(reader: Client) -> None:
    series = alerting.measured([1.0] * 3 + [2.0] * 2)
    alert = alerting.alert(
        alerting.group(), planned_at=alerting.FIRST + timedelta(hours=3), decision={}
    )
    trend = f"{alert.group.get_absolute_url()}trend/"
    shown = " ".join(text(reader, trend).split())
    assert "Thick lines: the medians" in shown
    for datum in series.data.filter(value=2.0):
        series.invalid_points.create(job=datum.job, reason="shared machine")
    shown = " ".join(text(reader, trend).split())
    assert "No levels are drawn: no point of the new level is shown" in shown
    assert "Thick lines: the medians" not in shown
