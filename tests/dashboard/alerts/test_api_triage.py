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
    assert moved["state"] == "acknowledged"
    assert moved["events"][-1]["by"] == "ada"
    assert moved["events"][-1]["text"] == "known"


def test_a_move_that_is_not_possible_says_which_are(caller: Caller) -> None:
    group = alerting.group(state="fixed")
    refusal = caller.post(f"alerts/{group.pk}/move", {"to": "confirmed"}, expect=409)
    assert "it can become: acknowledged" in refusal["detail"]


def test_an_alert_is_assigned_noted_and_linked(caller: Caller) -> None:
    group = alerting.group()
    assert caller.post(f"alerts/{group.pk}/assign", {"to": "ada"})["assignee"] == "ada"
    assert caller.post(f"alerts/{group.pk}/assign", {"to": None})["assignee"] is None
    caller.post(f"alerts/{group.pk}/note", {"text": "looks real"})
    url = "https://github.com/pytorch/pytorch/issues/1"
    answer = caller.post(f"alerts/{group.pk}/link", {"url": url})
    assert answer["links"] == [{"url": url, "title": ""}]


def test_unknown_account_is_not_assigned(caller: Caller) -> None:
    refusal = caller.post(f"alerts/{alerting.group().pk}/assign", {"to": "eve"}, expect=404)
    assert "There is no active account eve" in refusal["detail"]


def test_change_point_moves_to_another_build(caller: Caller) -> None:
    alerting.measured([2.0], build="2.11.0")
    for hour, build in enumerate(("2.12.0", "2.13.0"), 1):
        alerting.measure({"latency_ms": 2.2}, hour, build=build)
    group = alerting.group(base=site.build("2.12.0"), new=site.build("2.13.0"))
    alerting.alert(group, planned_at=alerting.FIRST + timedelta(hours=2))
    answer = caller.post(f"alerts/{group.pk}/nudge", {"to": "2.12.0", "why": "a noisy night"})
    assert answer["base"] == "2.11.0"
    assert answer["new"] == "2.12.0"
    assert answer["events"][-1]["action"] == "nudged"


def test_an_alert_is_split_and_merged_again(caller: Caller) -> None:
    group = alerting.group()
    alerting.alert(group)
    other = alerting.alert(group, metric="cold_start_s")
    split_off = caller.post(f"alerts/{group.pk}/split", {"changes": [other.pk]})
    assert Alert.objects.get(pk=other.pk).group_id == split_off["id"]
    assert split_off["series"] == 1
    merged = caller.post(f"alerts/{split_off['id']}/merge", {"into": group.pk, "why": "one cause"})
    assert merged["id"] == group.pk
    assert merged["series"] == 2
    assert merged["events"][-1]["by"] == "ada"
    assert AlertGroup.objects.get(pk=split_off["id"]).state == "invalid"


def test_a_group_is_not_split_off_whole(caller: Caller) -> None:
    group = alerting.group()
    whole = alerting.alert(group)
    refusal = caller.post(f"alerts/{group.pk}/split", {"changes": [whole.pk]}, expect=409)
    assert "That is the whole group" in refusal["detail"]


def test_a_point_is_left_out_and_brought_back(caller: Caller) -> None:
    series = alerting.measured([2.0, 2.0, 9.0])
    group = alerting.group()
    alerting.alert(group)
    job = str(series.data.get(value=9.0).job_id)
    answer = caller.post(
        f"alerts/{group.pk}/invalidate",
        {"series": series.pk, "job": job, "reason": "shared machine"},
    )
    [point] = answer["invalid_points"]
    assert point["job"] == job
    assert point["reason"] == "shared machine"
    assert point["by"] == "ada"
    answer = caller.post(f"alerts/{group.pk}/bring-back", {"point": point["id"]})
    assert answer["invalid_points"] == []
    assert not InvalidPoint.objects.exists()


def test_series_is_muted_and_unmuted(caller: Caller) -> None:
    group = alerting.group()
    series = alerting.alert(group).series_id
    until = timezone.now() + timedelta(days=3)
    body = {"series": series, "until": until.isoformat(), "reason": "known"}
    [muted] = caller.post(f"alerts/{group.pk}/mute", body)["mutes"]
    assert muted["series"] == series
    assert muted["reason"] == "known"
    assert muted["by"] == "ada"
    assert caller.post(f"alerts/{group.pk}/unmute", {"series": series})["mutes"] == []
    assert not Mute.objects.filter(until__gt=timezone.now()).exists()


def test_series_of_another_alert_is_not_muted(caller: Caller) -> None:
    group, other = alerting.group(), alerting.group()
    series = alerting.alert(other).series_id
    body = {"series": series, "until": (timezone.now() + timedelta(days=1)).isoformat()}
    refusal = caller.post(f"alerts/{group.pk}/mute", body, expect=404)
    assert "no series of this alert" in refusal["detail"]


def test_alert_without_a_measurement_cannot_be_measured_again(caller: Caller) -> None:
    group = alerting.group(kind="silence")
    refusal = caller.post(f"alerts/{group.pk}/again", {"why": "sure?"}, expect=409)
    assert "this alert is not a measurement" in refusal["detail"]
