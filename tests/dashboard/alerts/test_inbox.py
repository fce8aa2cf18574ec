"""The inbox: which alerts it lists, in what words, and its filters."""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from dashboard.alerts.selectors import inbox
from dashboard.alerts.selectors.evidence import surest
from dashboard.alerts.services.descriptions import describe
from dashboard.models import AlertGroup, Run
from tests.builders import alerting, site
from tests.builders.people import viewer
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def test_an_empty_inbox_says_what_it_would_show(reader: Client) -> None:
    assert "No alert has been raised yet" in text(reader, "/alerts/")


def test_an_inbox_with_nothing_open_points_to_what_was(reader: Client) -> None:
    alerting.group(state="fixed")
    assert "No open alerts" in text(reader, "/alerts/")


def test_the_inbox_shows_open_groups_and_leaves_improvements_out(reader: Client) -> None:
    alerting.group(title="worse")
    alerting.group(title="better", direction="improvement")
    alerting.group(title="over", state="fixed")
    shown = text(reader, "/alerts/")
    assert 'title="worse"' in shown
    assert 'title="better"' not in shown
    assert 'title="over"' not in shown


@pytest.mark.parametrize(
    ("query", "titles"),
    [
        ("state=fixed", {"c"}),
        ("state=all", {"a", "b", "c"}),
        ("severity=high", {"a"}),
        ("cause=compiler", {"a"}),
        ("direction=improvement", {"d"}),
        ("direction=all&state=all", {"a", "b", "c", "d"}),
        ("assignee=ada", {"b"}),
        ("assignee=nobody", {"a"}),
        ("family=toy", {"b"}),
        ("machine=elsewhere", {"a", "b"}),
        ("q=mlp", {"b"}),
        ("q=latency", {"b"}),
        ("q=compiler", {"a"}),
        ("q=ADA", {"b"}),
        ("q=ada+latency", {"b"}),
        ("q=ada+compiler", set()),
        ("opened=day", {"a", "b"}),
    ],
)
def test_the_address_filters_the_inbox(
    reader: Client,
    query: str,
    titles: set[str],
) -> None:
    ada = viewer("ada")
    alerting.group(title="a", severity="high", cause="compiler")
    alerting.alert(alerting.group(title="b", assignee=ada))
    alerting.group(title="c", state="fixed")
    alerting.group(title="d", direction="improvement", state="confirmed")
    page = reader.get(f"/alerts/?{query}").context["page"]
    assert {row.group.title for row in page.object_list} == titles


@pytest.mark.parametrize(("since", "days"), [("day", 1), ("week", 7)])
def test_older_alerts_are_left_out(since: str, days: int) -> None:
    now = timezone.now()
    new, old = alerting.group(), alerting.group()
    AlertGroup.objects.filter(pk=old.pk).update(created_at=now - timedelta(days=days, hours=1))
    assert list(inbox.listing({"opened": since}, now)) == [new]


def test_alerts_since_the_newest_release_begin_with_its_first_run() -> None:
    old = alerting.group()
    site.run(build=site.build("2.9.0").label)
    site.run(build=site.build("2.12.0").label)
    Run.objects.filter(build__version="2.9.0").update(created_at=timezone.now())
    new = alerting.group()
    started = Run.objects.get(build__version="2.12.0").created_at
    AlertGroup.objects.filter(pk=old.pk).update(created_at=started - timedelta(hours=1))
    assert list(inbox.listing({"opened": "release"}, timezone.now())) == [new]


def test_line_of_the_inbox_says_what_how_much_and_why(reader: Client) -> None:
    group = alerting.group(cause="compiler")
    alerting.alert(group)
    alerting.alert(group, metric="cold_start_s", effect=1.0)
    shown = text(reader, "/alerts/")
    assert "Latency, inductor" in shown
    assert "6.2% slower</span> <small>5.1 to 7.4% slower</small>" in shown
    assert "and 1 more series" in shown
    assert "Compiler" in shown


def test_queue_begins_with_what_costs_most_of_what_is_paid(reader: Client) -> None:
    levels = {"verdict": {"level_before": 100.0, "level_after": 106.0}}
    for title, metric, decision in (
        ("start", "cold_start_s", levels),
        ("dear step", "latency_ms", levels),
        ("cheap step", "device_ms", {"verdict": {"level_before": 1.0, "level_after": 1.06}}),
    ):
        alerting.alert(alerting.group(title=title), metric, decision=decision)
    page = reader.get("/alerts/").context["page"]
    assert [row.group.title for row in page.object_list] == ["dear step", "cheap step", "start"]


def test_alerts_of_one_cost_begin_with_the_most_urgent(reader: Client) -> None:
    alerting.group(title="older", severity="low")
    alerting.group(title="urgent", severity="high")
    alerting.group(title="newer", severity="low")
    page = reader.get("/alerts/").context["page"]
    assert [row.group.title for row in page.object_list] == ["urgent", "newer", "older"]


def test_acknowledged_alert_is_folded(reader: Client) -> None:
    alerting.group(title="taken", workflow_state="acknowledged")
    alerting.group(title="open")
    page = reader.get("/alerts/")
    assert [row.group.title for row in page.context["folded"]] == ["taken"]
    assert "1 acknowledged, closed or older" in page.text


def trade_off(**of_the_loss: Any) -> AlertGroup:
    """12.8% less memory, confirmed, a faster cold start, not confirmed; 1.8% more compile calls."""
    group = alerting.group(state="confirmed", direction="trade_off")
    gains: dict[str, Any] = {"effect": -12.8, "low": -14.0, "high": -11.6}
    gains["direction"] = "improvement"
    alerting.alert(group, "peak_memory_gb", confirmation="confirmed", **gains)
    alerting.alert(group, "cold_start_s", **gains)
    alerting.alert(group, "compile_calls", effect=1.8, low=1.7, high=1.9, **of_the_loss)
    return group


def test_line_of_a_trade_off_begins_with_what_was_lost(reader: Client) -> None:
    trade_off(confirmation="confirmed")
    shown = text(reader, "/alerts/")
    assert re.search("1.8% higher.*Compile calls.*but 12.8% less memory; and 1 more series", shown)
    assert "this change itself" not in shown


def test_confirmed_trade_off_says_that_its_loss_is_not_confirmed(reader: Client) -> None:
    group = trade_off()
    for address in ("/alerts/", group.get_absolute_url()):
        assert "this change itself: not measured again" in text(reader, address)
    assert "this change of it is not" in text(reader, f"{group.get_absolute_url()}report/")


def test_loss_that_did_not_come_again_does_not_head_its_alert() -> None:
    row, *_ = inbox.rows([trade_off(confirmation="not_reproduced")])
    assert row.main is not None
    assert row.main.metric.key == "peak_memory_gb"


def test_page_of_a_trade_off_begins_with_what_was_lost(reader: Client) -> None:
    page = reader.get(trade_off(confirmation="confirmed").get_absolute_url())
    assert page.context["main"].metric.key == "compile_calls"
    assert "but 12.8% less memory" in page.text


def test_change_that_did_not_come_again_is_not_among_the_surest() -> None:
    group = alerting.group()
    alerting.alert(group, "compile_calls", confirmation="not_reproduced")
    open_one = alerting.alert(group, confirmation="inconclusive")
    assert surest([*group.alerts.all()]) == [open_one]


def test_gain_of_another_case_is_not_the_other_side_of_a_loss() -> None:
    group = alerting.group(direction="trade_off")
    alerting.alert(group)
    alerting.alert(group, config="eager", direction="improvement", effect=-9.0)
    row, *_ = inbox.rows([group])
    assert (row.gain, row.others) == ("", 1)


@pytest.mark.parametrize("other", ["device_ms", "compile_calls"])
def test_change_that_heads_an_alert_is_the_one_that_its_title_begins_with(other: str) -> None:
    """Metrics that repeat well have small thresholds, which say nothing of what a change costs."""
    group = alerting.group()
    alerting.alert(group, effect=7.0)
    alerting.alert(group, other, effect=6.9)
    describe(groups=[group])
    assert group.title.startswith("mlp inference: 7.0% slower")
    row, *_ = inbox.rows([group])
    assert row.main is not None
    assert row.main.metric.key == "latency_ms"
