"""The inbox, the page of one alert, its figures and the feed: what they show, to whom."""

import json
import re
from typing import Any
from xml.etree import ElementTree

import pytest
from django.contrib.auth.models import User
from django.test import Client, override_settings

from dashboard.alerts.selectors import alerts
from dashboard.models import AlertEvent, Confirmation, TorchBuild
from tests.builders import alerting
from tests.builders.notifications import channel
from tests.builders.reading import page_text, text

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


# --- The inbox


def test_an_empty_inbox_says_what_it_would_show(reader: Client) -> None:
    assert "No alert has been raised yet" in text(reader, "/alerts/")


def test_an_inbox_with_nothing_open_points_to_what_was(reader: Client) -> None:
    alerting.group(state="fixed")
    assert "Nothing is open" in text(reader, "/alerts/")


def test_the_inbox_shows_open_groups_and_leaves_improvements_out(reader: Client) -> None:
    alerting.group(title="worse")
    alerting.group(title="better", direction="improvement")
    alerting.group(title="over", state="fixed")
    shown = text(reader, "/alerts/")
    assert ">worse<" in shown
    assert ">better<" not in shown
    assert ">over<" not in shown


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
    ],
)
def test_the_address_filters_the_inbox(reader: Client, query: str, titles: set[str]) -> None:
    ada = User.objects.create_user("ada")
    alerting.group(title="a", severity="high", cause="compiler")
    alerting.alert(alerting.group(title="b", assignee=ada))
    alerting.group(title="c", state="fixed")
    alerting.group(title="d", direction="improvement", state="confirmed")
    page = reader.get(f"/alerts/?{query}").context["page"]
    assert {group.title for group in page.object_list} == titles


def test_the_tally_counts_by_severity_and_cause() -> None:
    for severity, cause in (("high", "compiler"), ("high", "eager"), ("low", "eager")):
        alerting.group(severity=severity, cause=cause)
    tally = alerts.tally(alerts.listing({}))
    assert tally.causes == ["compiler", "eager"]
    assert tally.rows == [
        ("high", 2, [("compiler", 1), ("eager", 1)]),
        ("low", 1, [("compiler", 0), ("eager", 1)]),
    ]


def test_page_shows_the_effect_with_its_interval(reader: Client) -> None:
    group = alerting.group()
    alerting.alert(group)
    assert "6.2 % slower (5.1 to 7.4 %)" in text(reader, group.get_absolute_url())


def test_page_shows_what_the_confirmation_measured_of_the_series(reader: Client) -> None:
    group = alerting.group()
    again = {"effect": 9.5, "low": 8.0, "high": 11.0, "unit": "percent", "pairs": 4}
    alerting.alert(group, confirmation="confirmed", decision={"confirmation": again})
    Confirmation.objects.create(
        group=group, state="done", message="another series: +30.0 % in 4 rounds: confirmed"
    )
    shown = text(reader, group.get_absolute_url())
    assert re.search(
        r"measured again in turn: .*confirmed.*9.5 % slower \(8.0 to 11.0 %\).* in 4 rounds", shown
    )
    assert "another series" not in shown


def test_page_shows_a_status_change_in_words(reader: Client) -> None:
    group = alerting.group(kind="status")
    alerting.alert(
        group, metric="passed", kind="status", decision={"words": ["pass", "fail_accuracy"]}
    )
    shown = text(reader, group.get_absolute_url())
    assert "fail_accuracy" in shown
    assert "A status word is no noise" in shown


def test_page_of_a_trade_off_shows_both_sides(reader: Client) -> None:
    group = alerting.group(direction="trade_off")
    alerting.alert(group, effect=-4.0, low=-5.0, high=-3.0, direction="improvement")
    alerting.alert(group, metric="cold_start_s", effect=30.0, low=25.0, high=35.0)
    shown = text(reader, group.get_absolute_url())
    assert shown.index("What got worse") < shown.index("What got better")
    assert "A trade-off" in shown


def test_builds_with_commits_link_to_what_lies_between(reader: Client) -> None:
    base = TorchBuild.objects.create(label="aaa", version="2.14", git_sha="aaa")
    new = TorchBuild.objects.create(label="bbb", version="2.14", git_sha="bbb")
    group = alerting.group(base=base, new=new)
    alerting.alert(group)
    shown = text(reader, group.get_absolute_url())
    assert "https://github.com/pytorch/pytorch/compare/aaa...bbb" in shown


def test_a_group_without_series_still_has_a_page(reader: Client) -> None:
    group = alerting.group(kind="silence", title="worker w1 is silent", machine=None, track=None)
    assert "should have reported did not" in text(reader, group.get_absolute_url())


def test_a_skipped_confirmation_says_why(reader: Client) -> None:
    group = alerting.group()
    alerting.alert(group)
    Confirmation.objects.create(group=group, state="skipped", message="60 jobs wait already.")
    shown = text(reader, group.get_absolute_url())
    assert "It was not measured again: 60 jobs wait already." in shown


def test_evidence_is_escaped(reader: Client) -> None:
    group = alerting.group(
        evidence=[{"fact": "code", "says": "<script>x</script>", "supports": "compiler"}]
    )
    assert "<script>x" not in text(reader, group.get_absolute_url())


def test_the_command_of_the_new_level_is_there_to_be_copied(reader: Client) -> None:
    series = alerting.measured([2.0, 2.2])
    group = alerting.group()
    alerting.alert(group, job=series.data.get(value=2.2).job)
    assert "python -m benchmarks_suite run" in text(reader, group.get_absolute_url())


def test_quality_page_counts_by_week_and_detector(reader: Client) -> None:
    assert "No alert has been raised yet" in text(reader, "/alerts/quality/")
    group = alerting.group()
    alerting.alert(group, detector_version="1")
    for state in ("confirmed", "invalid"):
        AlertEvent.objects.create(group=group, action="state", state=state)
    shown = " ".join(text(reader, "/alerts/quality/").split())
    assert '<td data-label="confirmed" class="number">1</td>' in shown
    assert '<td data-label="confirmed of the decided" class="number">100 %</td>' in shown


# --- Its figures


def figure(client: Client, url: str) -> dict[str, Any]:
    drawn: dict[str, Any] = json.loads(text(client, url))
    return drawn


def test_a_group_without_series_has_no_figure(reader: Client) -> None:
    assert reader.get(f"/alerts/{alerting.group().pk}/change.json").status_code == 404


def test_an_invalid_point_is_not_in_the_figure(reader: Client) -> None:
    series = alerting.measured([2.0, 2.0, 9.0, 2.2])
    group = alerting.group()
    alert = alerting.alert(group, planned_at=series.last_at)
    job = series.data.get(value=9.0).job
    alert.series.invalid_points.create(job=job, reason="shared machine")
    drawn = figure(reader, f"/alerts/{group.pk}/change.json")
    points = next(trace for trace in drawn["data"] if trace["mode"] == "lines+markers")
    assert len(points["x"]) == 3


# --- The feed


def titles(client: Client, query: str = "") -> list[str]:
    root = ElementTree.fromstring(text(client, f"/alerts/feed/{query}"))
    return [entry.findtext(f"{ATOM}title") or "" for entry in root.iter(f"{ATOM}entry")]


def test_the_feed_has_what_the_inbox_has(reader: Client) -> None:
    alerting.alert(alerting.group(title="slow", severity="high"))
    alerting.group(title="slight", severity="low")
    assert titles(reader, "?severity=high") == ["slow"]


def test_feed_entry_is_updated_by_its_last_event(reader: Client) -> None:
    group = alerting.group(title="slow")
    event = AlertEvent.objects.create(group=group, action="note", state=group.state)
    root = ElementTree.fromstring(text(reader, "/alerts/feed/"))
    updated = root.findtext(f"{ATOM}entry/{ATOM}updated") or ""
    assert updated.startswith(event.at.strftime("%Y-%m-%dT%H:%M:%S"))


def test_a_feed_reader_gets_in_with_the_key_of_the_inbox(reader: Client) -> None:
    address = reader.get("/alerts/").context["feed"]
    assert "key=" in address
    assert Client().get(address).status_code == 200


def test_without_a_key_the_feed_says_where_to_get_one(client: Client) -> None:
    response = client.get("/alerts/feed/?key=1.0000")
    assert response.status_code == 403
    assert "copy the address" in page_text(response)


def test_feed_key_is_void_after_a_new_password(reader: Client) -> None:
    address = reader.get("/alerts/").context["feed"]
    user = User.objects.get(username="reader")
    user.set_password("another-long-word")
    user.save()
    assert Client().get(address).status_code == 403


def test_on_a_public_site_the_feed_needs_no_key(client: Client) -> None:
    with override_settings(PUBLIC_READ=True):
        assert client.get("/alerts/feed/").status_code == 200


def test_a_stranger_is_asked_to_sign_in(client: Client) -> None:
    assert client.get(f"/alerts/{alerting.group().pk}/").status_code == 302


# --- On the overview


def test_the_overview_counts_what_is_open(reader: Client) -> None:
    alerting.group(severity="high", cause="compiler")
    alerting.group(severity="low", state="fixed")
    shown = text(reader, "/")
    assert 'aria-label="1 of severity high, cause compiler"' in shown


def test_the_overview_says_that_a_channel_is_off_to_who_may_see_it(admin_client: Client) -> None:
    channel(enabled=False, name="ops", problem="after 6 tries: the box is full")
    channel(enabled=False, name="old")
    assert "the box is full" in text(admin_client, "/")
    assert "“old”" not in text(admin_client, "/")


def test_others_do_not_see_the_trouble_of_channels(reader: Client) -> None:
    channel(enabled=False, name="ops", problem="after 6 tries: the box is full")
    assert "the box is full" not in text(reader, "/")
