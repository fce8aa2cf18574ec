"""The page that shows who is notified."""

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from dashboard.models import Delivery
from dashboard.notifications.selectors.channels import conditions
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


def test_disabled_channel_and_rule_without_channels_stand_out(reader: Client) -> None:
    rule(channel(name="ops", enabled=False))
    rule()
    shown = text(reader, RULES)
    assert 'ops <b class="bad">off</b>' in shown
    assert '<b class="bad">nobody</b>' in shown


def test_answers_are_shown_only_to_those_who_may_see_the_log(
    reader: Client, admin_user: User
) -> None:
    made = channel(name="ops", url="mailto://user:hunter2@smtp.example.org?to=a@example.org")
    rule(made)
    Delivery.objects.create(
        channel=made, event=confirmed(), next_at=timezone.now(), answer="the box is full"
    )
    assert "the box is full" not in text(reader, RULES)
    reader.force_login(admin_user)
    assert "the box is full" in text(reader, RULES)
    assert "hunter2" not in text(reader, RULES)
