"""Open alerts on the overview, and channels that are off."""

from typing import Any

import pytest
from django.test import Client

from dashboard.models import AlertGroup
from tests.builders import alerting
from tests.builders.notifications import channel
from tests.builders.people import viewer
from tests.builders.reading import text

pytestmark = pytest.mark.django_db


def test_the_overview_counts_what_is_open(reader: Client) -> None:
    alerting.group(severity="high", cause="compiler")
    alerting.group(severity="low", state="fixed")
    shown = text(reader, "/")
    assert "the open alert" in shown
    assert "likely cause: compiler" in shown


def test_overview_counts_what_nobody_has_taken(reader: Client, django_user_model: Any) -> None:
    ada = viewer("ada")
    alerting.measure({"latency_ms": 1.0}, 0)
    alerting.group(severity="high")
    alerting.group(severity="high", assignee=ada)
    alerting.group(severity="high", workflow_state="acknowledged")
    assert "1 of high severity unassigned" in text(reader, "/")
    AlertGroup.objects.filter(assignee=None).update(workflow_state="acknowledged")
    assert "severity unassigned" not in text(reader, "/")


def test_the_overview_says_that_a_channel_is_off_to_who_may_see_it(admin_client: Client) -> None:
    channel(enabled=False, name="ops", problem="after 6 tries: the box is full")
    channel(enabled=False, name="old")
    assert "the box is full" in text(admin_client, "/")
    assert "“old”" not in text(admin_client, "/")


def test_others_do_not_see_the_trouble_of_channels(reader: Client) -> None:
    channel(enabled=False, name="ops", problem="after 6 tries: the box is full")
    assert "the box is full" not in text(reader, "/")
