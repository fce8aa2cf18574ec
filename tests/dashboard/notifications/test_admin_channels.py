"""Channels, rules and the log in the admin: secrets stay secret, bad input gets a reason."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.test import Client, override_settings
from django.urls import reverse
from django.utils import timezone

from dashboard.models import Channel, Delivery, Rule
from dashboard.notifications.core.kinds import Kind, kind_of
from dashboard.notifications.transports import deadline
from tests.builders.notifications import channel, confirmed, rule
from tests.builders.receivers import Receiver, receiver, slow_receiver

pytestmark = pytest.mark.django_db
CHANNELS, RULES, DELIVERIES = (
    reverse(f"admin:dashboard_{name}_changelist") for name in ("channel", "rule", "delivery")
)
SLACK = "https://hooks.slack.com/services/T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ"
TEAMS = (
    "https://prod-12.westeurope.logic.azure.com:443/workflows/0123456789abcdef0123456789abcdef"
    "/triggers/manual/paths/invoke?api-version=2016-06-01&sig=abcdefghijklmnopqrstuvwxyzABCDEFGHIJ"
)
HOOK = "webhook+https://ada:pa55@hooks.example.org:8443/secret-path?token=abc"


def page_text(response: Any) -> str:
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made, override_settings(ALLOW_PRIVATE_WEBHOOKS=True):
        yield made


def add(client: Client, kind: str = "webhook", **fields: Any) -> Any:
    form = {"name": "ops", "kind": kind, "enabled": "on", **fields}
    return client.post(reverse("admin:dashboard_channel_add"), form, follow=True)


def change(client: Client, of: Channel, **fields: Any) -> Any:
    form = {"name": of.name, "kind": "webhook", "enabled": "on", **fields}
    return client.post(reverse("admin:dashboard_channel_change", args=[of.pk]), form, follow=True)


def rule_form(**fields: Any) -> dict[str, Any]:
    return {
        "name": "all",
        "enabled": "on",
        "channels": [channel().pk],
        "minimum_effect_percent": "0",
        "minimum_severity": "low",
        "when": "at_once",
        "time_zone": "UTC",
        **fields,
    }


def test_webhook_secret_is_created_and_shown_once(admin_client: Client) -> None:
    saved = page_text(add(admin_client, webhook="https://hooks.example.org/x"))
    notice = re.search(r"shown this once: ([\w-]+)", saved)
    assert notice
    assert Channel.objects.get().secret == notice[1]
    assert notice[1] not in page_text(admin_client.get(CHANNELS))


@pytest.mark.parametrize("where", [CHANNELS, "change"])
def test_no_page_shows_the_whole_address(admin_client: Client, where: str) -> None:
    made = channel(HOOK)
    url = reverse("admin:dashboard_channel_change", args=[made.pk]) if where == "change" else where
    shown = page_text(admin_client.get(url))
    assert "webhook+https://hooks.example.org:8443/…" in shown
    assert not any(secret in shown for secret in ("secret-path", "pa55", "token=abc"))


def test_mail_password_is_masked(admin_client: Client) -> None:
    channel("mailtos://user:hunter2hunter2@smtp.example.org?to=a@example.org")
    assert "hunter2" not in page_text(admin_client.get(CHANNELS))


def test_empty_address_keeps_the_old_one(admin_client: Client) -> None:
    made = channel(HOOK)
    change(admin_client, made, name="renamed")
    made.refresh_from_db()
    assert made.name == "renamed"
    assert made.url == HOOK


@pytest.mark.parametrize(
    ("kind", "pasted", "url"),
    [
        ("mail", "ada@example.org; team@example.org", "mail:ada@example.org, team@example.org"),
        ("slack", SLACK, SLACK),
        ("teams", TEAMS, TEAMS),
        ("webhook", "https://hooks.example.org/x", "webhook+https://hooks.example.org/x"),
        ("webhook", "webhook+https://hooks.example.org/x", "webhook+https://hooks.example.org/x"),
        ("webhook", "http://127.0.0.1:8199/hook", "webhook+http://127.0.0.1:8199/hook"),
        ("other", "json://hooks.example.org/x", "json://hooks.example.org/x"),
    ],
)
@override_settings(ALLOW_PRIVATE_WEBHOOKS=True, EMAIL_URL="smtp://localhost")
def test_each_kind_needs_its_own_field_alone(
    admin_client: Client, kind: str, pasted: str, url: str
) -> None:
    add(admin_client, kind, **{kind: pasted})
    made = Channel.objects.get()
    assert made.url == url
    assert kind_of(made.url) == kind


@pytest.mark.parametrize(
    ("kind", "pasted", "reason"),
    [
        ("mail", "oncall", "“oncall” is not an e-mail address."),
        ("slack", "https://example.org/x", "begins with https://hooks.slack.com/services/, and"),
        ("slack", "https://hooks.slack.com/services/x", "does not understand this https://"),
        ("teams", "https://example.org/x", "Its host ends in logic.azure.com or powerplatform"),
        ("webhook", "ftp://x", "begins with https:// and names a host"),
        ("webhook", "http://127.0.0.1:8199/hook", "127.0.0.1 leads to 127.0.0.1, which is not a"),
        ("webhook", "http://127.1/hook", "unless the site is started with ALLOW_PRIVATE_WEBHOOKS"),
        ("webhook", "https://[fd00::1]/hook", "which is not a public address"),
        ("webhook", "https://LocalHost/hook", "localhost leads to 127.0.0.1"),
        ("other", "oncall@example.org", "is an e-mail address: choose E-mail as the kind."),
        ("other", "pigeon", "begins with the name of its service"),
        ("other", "carrier://pigeon", "does not understand this carrier:// address"),
        ("other", "json://10.0.0.1/x", "choose Webhook"),
        *[(kind, "", "This field is required.") for kind in Kind],
    ],
)
@override_settings(EMAIL_URL="smtp://localhost")
def test_unusable_address_is_refused_with_a_reason(
    admin_client: Client, kind: str, pasted: str, reason: str
) -> None:
    assert reason in page_text(add(admin_client, kind, **{kind: pasted}))
    assert not Channel.objects.exists()


def test_mail_without_a_server_says_what_to_set(admin_client: Client) -> None:
    page = page_text(add(admin_client, "mail", mail="ada@example.org"))
    assert "This site has no mail server: set EMAIL_URL" in page
    assert not Channel.objects.exists()


def test_recipients_of_a_mail_are_shown_again(admin_client: Client) -> None:
    made = channel("mail:ada@example.org")
    page = page_text(admin_client.get(reverse("admin:dashboard_channel_change", args=[made.pk])))
    assert 'value="ada@example.org"' in page


def test_another_kind_needs_its_address(admin_client: Client) -> None:
    made = channel(HOOK)
    assert "This field is required." in page_text(change(admin_client, made, kind="slack"))
    made.refresh_from_db()
    assert made.url == HOOK


def test_new_channel_opens_with_the_button_of_the_test(admin_client: Client) -> None:
    page = page_text(add(admin_client, webhook="https://hooks.example.org/x"))
    assert "ops is saved. Send a test to see whether it arrives." in page
    assert "/send-a-test/" in page


def test_enabling_a_channel_clears_its_problem(admin_client: Client) -> None:
    made = channel(HOOK, enabled=False, problem="the box is full", secret="x")
    change(admin_client, made)
    made.refresh_from_db()
    assert made.enabled
    assert made.problem == ""


def test_answer_to_a_test_message_is_shown(admin_client: Client, hook: Receiver) -> None:
    made = channel(hook.url)
    url = reverse("admin:dashboard_channel_send_a_test", args=[made.pk])
    assert "Sent. The channel said: 200 OK" in page_text(admin_client.get(url, follow=True))
    assert b'"kind":"test"' in hook.requests[0][1]


def test_answer_to_a_failed_test_message_is_shown(admin_client: Client, hook: Receiver) -> None:
    hook.status = 503
    url = reverse("admin:dashboard_channel_send_a_test", args=[channel(hook.url).pk])
    shown = page_text(admin_client.get(url, follow=True))
    assert "Not sent. The channel said: 127.0.0.1 answered 503" in shown


def test_test_message_to_a_silent_service_says_that_it_did_not_answer(
    admin_client: Client, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(deadline, "DEADLINE_S", 0.3)
    settings.ALLOW_PRIVATE_WEBHOOKS = True
    with slow_receiver() as port:
        made = channel(f"gotify://127.0.0.1:{port}/0123456789abcde")
        url = reverse("admin:dashboard_channel_send_a_test", args=[made.pk])
        shown = page_text(admin_client.get(url, follow=True))
    assert "Not sent. The channel said: Gotify did not answer within 0.3 seconds." in shown


def test_rule_is_created(admin_client: Client) -> None:
    response = admin_client.post(
        reverse("admin:dashboard_rule_add"), rule_form(metric_keys=["latency_ms"])
    )
    assert response.status_code == 302
    made = Rule.objects.get()
    assert made.metric_keys == ["latency_ms"]
    assert made.families == []
    assert made.weekday is None
    assert made.channels.count() == 1


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"when": "daily"}, "Say at what time the digest is sent."),
        ({"when": "weekly", "at": "08:00"}, "Say on which day the digest is sent."),
        ({"channels": []}, "This field is required."),
        ({"time_zone": "Mars/Base"}, "Select a valid choice."),
        ({"minimum_effect_percent": "-3"}, "greater than or equal to 0"),
    ],
)
def test_unusable_rule_is_refused_with_a_reason(
    admin_client: Client, wrong: dict[str, Any], reason: str
) -> None:
    response = admin_client.post(reverse("admin:dashboard_rule_add"), rule_form(**wrong))
    assert reason in page_text(response)


def test_rule_needs_three_choices_alone(admin_client: Client) -> None:
    choices = {
        "channels": [channel(name="ops").pk],
        "minimum_severity": "high",
        "when": "at_once",
    }
    admin_client.post(
        reverse("admin:dashboard_rule_add"),
        {**choices, "enabled": "on", "minimum_effect_percent": "0", "time_zone": "UTC"},
    )
    assert Rule.objects.get().name == "ops: high, at once"


def test_new_rule_begins_with_the_sites_time_zone(admin_client: Client, settings: Any) -> None:
    settings.TIME_ZONE = "Asia/Tokyo"
    page = page_text(admin_client.get(reverse("admin:dashboard_rule_add")))
    assert '<option value="Asia/Tokyo" selected>' in page


def add_rules(client: Client, *forms: dict[str, Any]) -> list[str]:
    """Their names."""
    for form in forms:
        client.post(reverse("admin:dashboard_rule_add"), form)
    return sorted(Rule.objects.values_list("name", flat=True))


def test_second_rule_of_a_name_gets_a_number(admin_client: Client) -> None:
    form = rule_form(name="")
    names = add_rules(admin_client, form, {**form, "metric_keys": ["latency_ms"]})
    assert names == ["channel 0: low, at once", "channel 0: low, at once (2)"]


def test_rule_that_makes_the_choices_of_another_is_refused(admin_client: Client) -> None:
    form = rule_form(name="first", metric_keys=["latency_ms", "peak_memory_gb"])
    add_rules(admin_client, form)
    twin = {**form, "name": "second", "metric_keys": ["peak_memory_gb", "latency_ms"]}
    response = admin_client.post(reverse("admin:dashboard_rule_add"), twin)
    assert "The rule “first” makes the same choices" in page_text(response)
    assert Rule.objects.count() == 1


@pytest.mark.parametrize("changed", [{"enabled": ""}, {"minimum_effect_percent": "5"}])
def test_rule_that_differs_or_is_off_is_accepted(
    admin_client: Client, changed: dict[str, str]
) -> None:
    form = rule_form(name="first")
    assert len(add_rules(admin_client, form, {**form, "name": "second", **changed})) == 2


def test_rule_is_not_the_other_of_itself(admin_client: Client) -> None:
    form = rule_form(name="first")
    add_rules(admin_client, form)
    url = reverse("admin:dashboard_rule_change", args=[Rule.objects.get().pk])
    admin_client.post(url, {**form, "name": "renamed"})
    assert Rule.objects.get().name == "renamed"


def test_log_shows_the_answer_and_resends_after_confirmation(admin_client: Client) -> None:
    made = Delivery.objects.create(
        channel=channel(),
        event=confirmed(),
        state="failed",
        answer="the box is full",
        next_at=timezone.now(),
    )
    assert "the box is full" in page_text(admin_client.get(DELIVERIES))
    form = {"action": "send_again", "_selected_action": made.pk}
    assert "arrives twice" in page_text(admin_client.post(DELIVERIES, form))
    admin_client.post(DELIVERIES, {**form, "confirmed": "yes"})
    made.refresh_from_db()
    assert made.state == "waiting"


def test_every_list_opens_with_rows(admin_client: Client) -> None:
    rule(channel())
    group = confirmed().group
    group.alerts.get().series.mutes.create(until=timezone.now(), reason="noisy")
    for name in ("alertgroup", "rule", "mute", "invalidpoint", "annotation", "delivery", "channel"):
        page_text(admin_client.get(reverse(f"admin:dashboard_{name}_changelist")))


def test_admin_cannot_change_alert_groups(admin_client: Client) -> None:
    group = confirmed().group
    response = admin_client.post(
        reverse("admin:dashboard_alertgroup_change", args=[group.pk]), {"title": "x"}
    )
    assert response.status_code == 403
