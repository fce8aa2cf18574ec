"""Evidence and workflow, and a confirmed change that is smaller, as the pages show them."""

import pytest
from django.test import Client

from dashboard.alerts.selectors.alerts import summarize
from tests.builders import alerting
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
ATOM = "{http://www.w3.org/2005/Atom}"


def test_acknowledged_alert_still_says_how_sure_it_is(reader: Client) -> None:
    alerting.group(evidence_state="confirmed", workflow_state="acknowledged")
    shown = text(reader, "/alerts/")
    assert "</span> confirmed</span>" in shown
    assert "</span> acknowledged</span>" in shown


@pytest.mark.parametrize(
    ("query", "number"),
    [
        ("evidence_state=confirmed", 2),
        ("workflow_state=acknowledged", 2),
        ("state=confirmed", 1),
        ("state=acknowledged", 1),
        ("state=recovered", 1),
        ("state=fixed", 1),
        ("", 2),
    ],
)
def test_both_fields_and_the_old_state_are_filters(reader: Client, query: str, number: int) -> None:
    alerting.group(state="confirmed")
    alerting.group(evidence_state="confirmed", workflow_state="acknowledged")
    alerting.group(evidence_state="recovered", workflow_state="acknowledged")
    alerting.group(evidence_state="recovered", workflow_state="fixed")
    page = reader.get(f"/alerts/?{query}").context["page"]
    assert len(page.object_list) == number


def test_page_api_and_messages_say_that_a_confirmed_change_is_smaller(reader: Client) -> None:
    outcome = {"effect": 2.1, "low": 1.2, "high": 2.9, "unit": "percent", "pairs": 8}
    group = alerting.group("confirmed")
    alert = alerting.alert(
        group, confirmation="confirmed", decision={"confirmation": outcome | {"smaller": True}}
    )
    page = " ".join(text(reader, group.get_absolute_url()).split())
    assert "2.1% slower" in page
    assert "smaller than first estimated; measured again in 8 rounds" in page
    (change,) = reader.get(f"/api/v1/alerts/{group.pk}").json()["changes"]
    assert (change["smaller"], change["effect"], change["first_effect"]) == (True, 2.1, 6.2)
    assert summarize(alert).sentence.endswith("; first estimated 6.2% slower (5.1 to 7.4%)")


def test_confirmed_status_says_in_how_many_rounds_it_was_measured_again(reader: Client) -> None:
    outcome = {"effect": -1.0, "low": -1.0, "high": -1.0, "unit": "difference", "pairs": 5}
    group = alerting.group("confirmed")
    words = ["pass", "fail_accuracy"]
    alerting.alert(
        group,
        metric="passed",
        kind="status",
        confirmation="confirmed",
        decision={"words": words, "confirmation": outcome},
    )
    page = " ".join(text(reader, group.get_absolute_url()).split())
    assert "measured again in 5 rounds" in page
    assert "not measured again" not in page
