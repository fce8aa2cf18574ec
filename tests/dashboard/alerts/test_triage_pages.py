"""Actions of people on alerts in the browser: who may, what they do, and what is said when they
cannot be done.
"""

import re
from datetime import timedelta
from typing import Any

import pytest
from django.contrib.auth.models import Permission
from django.test import Client
from django.utils import timezone

from dashboard.alerts.pages.triage import ACTS
from dashboard.models import Alert, AlertGroup, AlertState, InvalidPoint, Mute
from tests.builders import alerting, site
from tests.builders.people import viewer
from tests.builders.reading import page_text

pytestmark = pytest.mark.django_db


@pytest.fixture
def triager(client: Client) -> Client:
    """Somebody whose only permission is to triage."""
    user = viewer("ada")
    user.user_permissions.add(Permission.objects.get(codename="change_alertgroup"))
    client.force_login(user)
    return client


def do(client: Client, group: AlertGroup, act: str, **form: Any) -> str:
    """Send the form; what the page says afterwards."""
    response = client.post(f"/alerts/{group.pk}/{act}", form, follow=True)
    assert response.status_code == 200
    messages = re.search(r'<ul class="messages".*?</ul>', page_text(response), re.DOTALL)
    return messages[0] if messages else ""


def reloaded(group: AlertGroup) -> AlertGroup:
    return AlertGroup.objects.get(pk=group.pk)


# --- Who may


@pytest.mark.parametrize("act", [*ACTS, "bulk"])
@pytest.mark.parametrize(("who", "status"), [("stranger", 302), ("reader", 403)])
def test_only_who_has_the_permission_may_triage(
    client: Client, act: str, who: str, status: int
) -> None:
    group = alerting.group()
    if who == "reader":
        client.force_login(viewer("reader"))
    path = "/alerts/bulk" if act == "bulk" else f"/alerts/{group.pk}/{act}"
    response = client.post(path, {"to": "invalid", "act": "invalid", "group": group.pk})
    assert response.status_code == status
    assert reloaded(group).state == "suspected"


def test_acknowledged_alert_has_no_button_that_closes_it_where_acknowledge_was(
    triager: Client,
) -> None:
    group = alerting.group(state=AlertState.ACKNOWLEDGED)
    shown = page_text(triager.get(group.get_absolute_url()))
    first = shown[shown.index('id="move-why"') :]
    assert first.index("disabled>Acknowledged</button>") < first.index('value="fixed"')
    assert "main-button" not in shown[shown.index('id="triage"') :].partition("</form>")[0]


def test_first_response_is_offered_to_those_who_may_only(triager: Client) -> None:
    address = alerting.group().get_absolute_url()
    assert 'aria-label="First response"' in page_text(triager.get(address))
    triager.logout()
    assert 'aria-label="First response"' not in page_text(triager.get(address))


@pytest.mark.parametrize("act", ["move", "bulk"])
def test_get_request_changes_nothing(triager: Client, act: str) -> None:
    path = "/alerts/bulk" if act == "bulk" else f"/alerts/{alerting.group().pk}/{act}"
    assert triager.get(path).status_code == 405


def test_the_page_offers_what_is_possible_now(triager: Client) -> None:
    group = alerting.group(state=AlertState.ACKNOWLEDGED)
    shown = page_text(triager.get(group.get_absolute_url()))
    assert re.findall(r'name="to" value="(\w+)"', shown) == ["fixed", "wontfix", "invalid"]


def test_a_closed_alert_can_be_opened_again(triager: Client) -> None:
    group = alerting.group(state=AlertState.FIXED, closed_at=timezone.now())
    assert "Reopen" in page_text(triager.get(group.get_absolute_url()))
    do(triager, group, "move", to="acknowledged")
    assert reloaded(group).state == "acknowledged"
    assert reloaded(group).closed_at is None


# --- What each act does


def test_a_move_is_in_the_history_with_who_and_why(triager: Client) -> None:
    group = alerting.group()
    said = do(triager, group, "move", to="acknowledged", why="looking at it")
    assert "Acknowledged." in said
    shown = page_text(triager.get(group.get_absolute_url()))
    assert "<b>ada</b>" in shown
    assert "looking at it" in shown


@pytest.mark.parametrize(
    ("to", "expected"), [("confirmed", "cannot become confirmed"), ("sunk", "There is no state")]
)
def test_a_move_that_is_not_possible_is_explained(
    triager: Client,
    to: str,
    expected: str,
) -> None:
    group = alerting.group()
    assert expected in do(triager, group, "move", to=to)
    assert reloaded(group).state == "suspected"


@pytest.mark.parametrize(
    ("form", "name"),
    [
        ({"mine": "1"}, "ada"),
        ({"to": "bob"}, "bob"),
        ({"to": ""}, "None"),
    ],
)
def test_an_alert_is_assigned(triager: Client, form: dict[str, str], name: str) -> None:
    group = alerting.group(assignee=viewer("bob"))
    do(triager, group, "assign", **form)
    assert str(reloaded(group).assignee) == name


def test_unknown_account_is_not_assigned(triager: Client) -> None:
    assert "no account “eve”" in do(triager, alerting.group(), "assign", to="eve")


def test_a_note_and_a_link_are_kept(triager: Client) -> None:
    group = alerting.group()
    do(triager, group, "note", text="seen upstream")
    do(triager, group, "link", url="https://github.com/pytorch/pytorch/issues/1", title="Slow UNet")
    shown = page_text(triager.get(group.get_absolute_url()))
    assert "seen upstream" in shown
    assert ">Slow UNet</a>" in shown


def test_link_that_is_not_an_address_is_refused(triager: Client) -> None:
    group = alerting.group()
    assert "is not an address" in do(triager, group, "link", url="javascript:alert(1)")
    assert not group.links.exists()


def test_a_change_is_moved_to_a_neighbouring_build(triager: Client) -> None:
    series = alerting.measured([2.0], build="2.11.0")
    for hour, build in enumerate(("2.12.0", "2.13.0"), 1):
        alerting.measure({"latency_ms": 2.2}, hour, build=build)
    group = alerting.group(base=site.build("2.12.0"), new=site.build("2.13.0"))
    alerting.alert(group, planned_at=alerting.FIRST + timedelta(hours=2))
    shown = page_text(triager.get(group.get_absolute_url()))
    assert re.findall(r"<option value=\"\d+\">(2\.\d+\.0)</option>", shown) == ["2.11.0", "2.12.0"]
    do(triager, group, "nudge", to=site.build("2.12.0").pk, why="the night before was noisy")
    assert str(reloaded(group).base) == "2.11.0"
    assert str(reloaded(group).new) == "2.12.0"
    assert series.alerts.get().new == site.build("2.12.0")


def test_an_alert_is_split_and_merged_again(triager: Client) -> None:
    group = alerting.group()
    alerting.alert(group)
    other = alerting.alert(group, metric="cold_start_s")
    do(triager, group, "split", alert=[other.pk])
    made = Alert.objects.get(pk=other.pk).group
    assert made != group
    do(triager, made, "merge", into=group.pk)
    assert reloaded(group).alerts.count() == 2
    assert reloaded(made).state == "invalid"


def test_a_point_is_left_out_and_brought_back(triager: Client) -> None:
    series = alerting.measured([2.0, 2.0, 9.0])
    group = alerting.group()
    alerting.alert(group)
    job = series.data.get(value=9.0).job_id
    do(
        triager,
        group,
        "invalidate",
        series=series.pk,
        job=job,
        reason="shared machine",
    )
    point = InvalidPoint.objects.get()
    assert str(point.by) == "ada"
    assert point.reason == "shared machine"
    do(triager, group, "bring-back", point=point.pk)
    assert not InvalidPoint.objects.exists()


def test_a_point_of_another_alert_is_not_brought_back_here(triager: Client) -> None:
    series = alerting.measured([2.0])
    point = series.invalid_points.create(job=series.data.get().job, reason="x")
    assert "no such invalid point" in do(triager, alerting.group(), "bring-back", point=point.pk)


def test_inconclusive_alert_can_be_measured_again(triager: Client) -> None:
    worker = site.worker()
    worker.last_seen = timezone.now()
    worker.save()
    group = alerting.group(
        state=AlertState.INCONCLUSIVE, base=site.build("2.12.0"), new=site.build()
    )
    alerting.alert(group)
    assert "Measure again" in page_text(triager.get(group.get_absolute_url()))
    assert "Measuring again" in do(triager, group, "again", why="busy")
    assert reloaded(group).state == "confirming"
    assert ">Measure again<" not in page_text(triager.get(group.get_absolute_url()))


def test_a_series_is_muted_until_the_end_of_a_day_and_unmuted(triager: Client) -> None:
    group = alerting.group()
    series = alerting.alert(group).series
    day = timezone.localdate() + timedelta(days=3)
    said = do(
        triager,
        group,
        "mute",
        series=series.pk,
        until=f"{day}",
        reason="noisy",
    )
    assert f"until the end of {day}" in said
    assert timezone.localtime(Mute.objects.get().until).date() == day + timedelta(days=1)
    do(triager, group, "unmute", series=series.pk)
    assert not Mute.objects.filter(until__gt=timezone.now()).exists()


@pytest.mark.parametrize("until", ["", "soon", "2026-02-31", "2001-01-01"])
def test_mute_needs_a_future_day(triager: Client, until: str) -> None:
    group = alerting.group()
    series = alerting.alert(group).series
    assert "error" in do(triager, group, "mute", series=series.pk, until=until)
    assert not Mute.objects.exists()


@pytest.mark.parametrize(
    ("act", "form"),
    [
        ("nudge", {"to": "x"}),
        ("merge", {"into": "0"}),
        ("merge", {}),
        ("split", {"alert": ["x"]}),
        ("invalidate", {"series": "1"}),
        ("mute", {"series": "999", "until": "2100-01-01"}),
        ("note", {"text": "  "}),
    ],
)
def test_invalid_form_is_answered_with_an_error(
    triager: Client, act: str, form: dict[str, Any]
) -> None:
    assert 'class="error"' in do(triager, alerting.group(), act, **form)


def test_an_act_that_does_not_exist_is_not_found(triager: Client) -> None:
    assert triager.post(f"/alerts/{alerting.group().pk}/explode").status_code == 404


# --- Several at once


def bulk(
    client: Client, act: str, *groups: AlertGroup, back: str = "/alerts/?severity=high"
) -> Any:
    form = {
        "act": act,
        "why": "together",
        "group": [group.pk for group in groups],
        "back": back,
    }
    return client.post("/alerts/bulk", form)


def test_several_are_acknowledged_and_the_filters_stay(triager: Client) -> None:
    groups = [alerting.group(), alerting.group(state=AlertState.CONFIRMED)]
    assert bulk(triager, "acknowledged", *groups).headers["Location"] == "/alerts/?severity=high"
    assert {reloaded(group).state for group in groups} == {"acknowledged"}


def test_bulk_act_reports_refusals_and_does_the_rest(triager: Client) -> None:
    done, refused = alerting.group(), alerting.group(state=AlertState.FIXED)
    bulk(triager, "wontfix", done, refused)
    shown = page_text(triager.get("/alerts/?state=all"))
    assert "Done with 1 of 2." in shown
    assert "is fixed and cannot become wontfix" in shown


def test_several_alerts_are_assigned_and_merged(triager: Client) -> None:
    groups = [alerting.group(), alerting.group()]
    for number, group in enumerate(groups):
        alerting.alert(group, planned_at=alerting.FIRST + timedelta(hours=number))
    bulk(triager, "mine", *groups)
    assert {str(reloaded(group).assignee) for group in groups} == {"ada"}
    bulk(triager, "merge", *groups)
    assert [reloaded(group).alerts.count() for group in groups] == [2, 0]


@pytest.mark.parametrize(
    ("act", "chosen", "expected"), [("fixed", 0, "Select alerts first"), ("merge", 1, "two alerts")]
)
def test_too_few_chosen_alerts_are_reported(
    triager: Client, act: str, chosen: int, expected: str
) -> None:
    alerting.group()
    bulk(triager, act, *AlertGroup.objects.all()[:chosen])
    assert expected in page_text(triager.get("/alerts/"))


def test_bulk_form_does_not_redirect_to_another_site(triager: Client) -> None:
    assert bulk(triager, "mine", back="https://evil.example/").headers["Location"] == "/alerts/"
