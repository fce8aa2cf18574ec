"""Triage through the API: every act of the page, in the name of the token's owner, and kept in the
same history.
"""

from datetime import timedelta

import pytest
from django.utils import timezone

from dashboard.alerts.api.triage import router
from dashboard.alerts.pages.triage import ACTS
from dashboard.models import Alert, AlertGroup, InvalidPoint, Mute
from tests.builders import alerting, site
from tests.builders.api import Caller, token

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return Caller(token())


def test_the_api_has_every_act_of_the_page() -> None:
    paths = {path for path, _ in router.path_operations.items()}
    assert {path.rsplit("/", 1)[-1] for path in paths} == set(ACTS)


def test_an_alert_is_acknowledged_with_a_reason(caller: Caller) -> None:
    group = alerting.group()
    moved = caller.post(f"alerts/{group.pk}/move", {"to": "acknowledged", "why": "known"})
    assert (moved["state"], moved["events"][-1]["by"], moved["events"][-1]["text"]) == (
        "acknowledged",
        "ada",
        "known",
    )


def test_a_move_that_is_not_possible_says_which_are(caller: Caller) -> None:
    group = alerting.group(state="fixed")
    told = caller.post(f"alerts/{group.pk}/move", {"to": "confirmed"}, expect=409)
    assert "it can become: acknowledged" in told["detail"]


def test_an_alert_is_assigned_noted_and_linked(caller: Caller) -> None:
    group = alerting.group()
    assert caller.post(f"alerts/{group.pk}/assign", {"to": "ada"})["assignee"] == "ada"
    assert caller.post(f"alerts/{group.pk}/assign", {"to": None})["assignee"] is None
    caller.post(f"alerts/{group.pk}/note", {"text": "looks real"})
    url = "https://github.com/pytorch/pytorch/issues/1"
    assert caller.post(f"alerts/{group.pk}/link", {"url": url})["links"] == [
        {"url": url, "title": ""}
    ]


def test_nobody_is_assigned_who_is_not_there(caller: Caller) -> None:
    told = caller.post(f"alerts/{alerting.group().pk}/assign", {"to": "eve"}, expect=404)
    assert "account with username eve" in told["detail"]


def test_a_change_is_nudged_to_another_build(caller: Caller) -> None:
    alerting.measured([2.0], build="2.11.0")
    for hour, build in enumerate(("2.12.0", "2.13.0"), 1):
        alerting.measure({"latency_ms": 2.2}, hour, build=build)
    group = alerting.group(base=site.build("2.12.0"), new=site.build("2.13.0"))
    alerting.alert(group, planned_at=alerting.FIRST + timedelta(hours=2))
    found = caller.post(f"alerts/{group.pk}/nudge", {"to": "2.12.0", "why": "a noisy night"})
    assert (found["base"], found["new"], found["events"][-1]["action"]) == (
        "2.11.0",
        "2.12.0",
        "nudged",
    )


def test_an_alert_is_split_and_merged_again(caller: Caller) -> None:
    group = alerting.group()
    alerting.alert(group)
    other = alerting.alert(group, metric="cold_start_s")
    made = caller.post(f"alerts/{group.pk}/split", {"changes": [other.pk]})
    assert (Alert.objects.get(pk=other.pk).group_id, made["series"]) == (made["id"], 1)
    merged = caller.post(f"alerts/{made['id']}/merge", {"into": group.pk, "why": "one cause"})
    assert (merged["id"], merged["series"], merged["events"][-1]["by"]) == (group.pk, 2, "ada")
    assert AlertGroup.objects.get(pk=made["id"]).state == "invalid"


def test_a_group_is_not_split_off_whole(caller: Caller) -> None:
    group = alerting.group()
    whole = alerting.alert(group)
    told = caller.post(f"alerts/{group.pk}/split", {"changes": [whole.pk]}, expect=409)
    assert "That is the whole group" in told["detail"]


def test_a_point_is_left_out_and_brought_back(caller: Caller) -> None:
    series = alerting.measured([2.0, 2.0, 9.0])
    group = alerting.group()
    alerting.alert(group)
    job = str(series.data.get(value=9.0).job_id)
    found = caller.post(
        f"alerts/{group.pk}/invalidate",
        {"series": series.pk, "job": job, "reason": "shared machine"},
    )
    [point] = found["invalid_points"]
    assert (point["job"], point["reason"], point["by"]) == (job, "shared machine", "ada")
    assert (
        caller.post(f"alerts/{group.pk}/bring-back", {"point": point["id"]})["invalid_points"] == []
    )
    assert not InvalidPoint.objects.exists()


def test_a_series_is_muted_and_heard_again(caller: Caller) -> None:
    group = alerting.group()
    series = alerting.alert(group).series_id
    until = timezone.now() + timedelta(days=3)
    asked = {"series": series, "until": until.isoformat(), "reason": "known"}
    [muted] = caller.post(f"alerts/{group.pk}/mute", asked)["mutes"]
    assert (muted["series"], muted["reason"], muted["by"]) == (series, "known", "ada")
    assert caller.post(f"alerts/{group.pk}/unmute", {"series": series})["mutes"] == []
    assert not Mute.objects.filter(until__gt=timezone.now()).exists()


def test_a_series_of_another_alert_is_not_muted_from_here(caller: Caller) -> None:
    group, other = alerting.group(), alerting.group()
    series = alerting.alert(other).series_id
    asked = {"series": series, "until": (timezone.now() + timedelta(days=1)).isoformat()}
    told = caller.post(f"alerts/{group.pk}/mute", asked, expect=404)
    assert "no series of this alert" in told["detail"]


def test_what_cannot_be_measured_again_says_why(caller: Caller) -> None:
    told = caller.post(
        f"alerts/{alerting.group(kind='silence').pk}/again", {"why": "sure?"}, expect=409
    )
    assert "this alert is not a measurement" in told["detail"]
