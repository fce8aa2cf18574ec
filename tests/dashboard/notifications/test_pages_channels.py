"""The page that shows who is notified."""

from datetime import time

import pytest
from django.contrib.auth.models import Permission, User
from django.test import Client
from django.utils import timezone

from dashboard.models import Delivery
from dashboard.notifications.selectors.channels import about, conditions
from tests.builders.notifications import channel, confirmed, rule
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
RULES = "/alerts/rules/"


def test_page_without_rules_says_how_to_begin(reader: Client) -> None:
    assert "An administrator makes both" in text(reader, RULES)


def test_administrator_is_led_to_the_first_channel(admin_client: Client) -> None:
    assert "/admin/dashboard/channel/add/" in text(admin_client, RULES)


def test_rule_is_described_in_words() -> None:
    made = rule(
        families=["llm"], minimum_severity="high", minimum_effect_percent=5, states=["suspected"]
    )
    assert conditions(made) == ["suspected", "of high severity or worse", "by 5% or more", "llm"]


def test_rule_without_choices_selects_confirmed_missing_and_recovered() -> None:
    states = "confirmed, missing report or recovered"
    assert conditions(rule(improvements=True)) == [states, "improvements too"]


def test_weekly_rule_says_its_day_and_time(reader: Client) -> None:
    rule(when="weekly", weekday=0, at=time(8), time_zone="Europe/Berlin")
    assert "weekly on Monday at 08:00, Europe/Berlin" in text(reader, RULES)


@pytest.mark.parametrize(
    ("digest", "expected"),
    [
        ("3 2026-11-16T08:00:00/2026-11-23T08:00:00", "a digest of alerts"),
        ("test 2026-11-16T08:00:00", "a test"),
    ],
)
def test_log_says_what_a_message_was_about(digest: str, expected: str) -> None:
    assert about(Delivery(digest=digest)) == expected


def test_disabled_channel_and_rule_without_channels_stand_out(reader: Client) -> None:
    rule(channel(name="ops", enabled=False))
    rule()
    shown = text(reader, RULES)
    assert 'ops <b class="bad">off</b>' in shown
    assert '<b class="bad">nobody</b>' in shown


def test_answers_are_shown_only_to_those_who_may_see_the_log(
    client: Client, admin_user: User
) -> None:
    reads_alerts = User.objects.create_user("reads-alerts")
    reads_alerts.user_permissions.add(Permission.objects.get(codename="view_alertgroup"))
    client.force_login(reads_alerts)
    made = channel(name="ops", url="mailto://user:hunter2@smtp.example.org?to=a@example.org")
    rule(made)
    Delivery.objects.create(
        channel=made, event=confirmed(), next_at=timezone.now(), answer="the box is full"
    )
    assert "the box is full" not in text(client, RULES)
    client.force_login(admin_user)
    assert "the box is full" in text(client, RULES)
    assert "hunter2" not in text(client, RULES)
