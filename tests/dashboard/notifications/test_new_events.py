"""Release candidates, hand-overs and the digest as messages."""

import json
from collections.abc import Iterator
from datetime import time, timedelta
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from django.contrib.auth.models import User
from django.test import override_settings

from dashboard.alerts.services import assignments, triage
from dashboard.comparisons.core.candidate_verdicts import WHAT_IT_MEANS
from dashboard.comparisons.services.comparisons import cancel_comparison
from dashboard.models import AlertEvent, AlertGroup, AlertState, Channel, Delivery, Rule
from dashboard.notifications.admin.rules import RuleForm
from dashboard.notifications.selectors.channels import conditions
from dashboard.notifications.selectors.messages import entry_of
from dashboard.notifications.services import deliveries
from dashboard.notifications.services.candidates import enqueue_candidates
from dashboard.notifications.services.own_channels import own_channels
from dashboard.notifications.transports import compose, webhook
from tests.builders import alerting, candidates
from tests.builders.notifications import NOW, channel, confirmed, rule
from tests.builders.receivers import Mailbox, Receiver, receiver

pytestmark = pytest.mark.django_db
SCHEMA = json.loads(Path(webhook.__file__).with_name("webhook.v1.json").read_text())


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made, override_settings(ALLOW_PRIVATE_WEBHOOKS=True):
        yield made


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada", email="ada@example.org")


def send_all() -> None:
    for delivery in deliveries.due(now=NOW + timedelta(days=30)):
        deliveries.send(delivery_id=delivery, now=NOW + timedelta(days=30))


def document(hook: Receiver) -> dict[str, Any]:
    """Read the document of the only message, which fits the schema."""
    ((_, body),) = hook.requests
    posted: dict[str, Any] = json.loads(body)
    jsonschema.validate(posted, SCHEMA, format_checker=jsonschema.FormatChecker())
    return posted


# --- Release candidates


def test_ended_candidate_is_one_message_with_its_verdicts(hook: Receiver) -> None:
    comparison = candidates.ended(2.4)
    rule(channel(hook.url), subjects=["candidates"])
    assert enqueue_candidates(now=NOW) == 1
    assert enqueue_candidates(now=NOW) == 0
    send_all()
    posted = document(hook)
    assert posted["subject"] == f"PyTorch {comparison.new} on cpu-2c: worse for 1 model"
    assert posted["candidate"]["models"][0]["verdict"] == "worse"


def test_mail_says_what_is_not_safe_and_what_the_words_mean(inbox: Mailbox, settings: Any) -> None:
    settings.ALLOW_PRIVATE_WEBHOOKS = True
    candidates.ended(2.4)
    rule(channel(inbox.url), subjects=["candidates"])
    enqueue_candidates(now=NOW)
    send_all()
    (mail,) = inbox.mails
    assert "worse for 1 model" in mail["Subject"]
    (part,) = inbox.parts("text/html")
    html = part.get_content()
    assert "mlp inference" in html
    assert WHAT_IT_MEANS[:30] in html


def test_rule_for_alerts_hears_nothing_of_candidates() -> None:
    candidates.ended(2.0)
    rule(channel())
    rule(channel(), subjects=["candidates"], families=["llm"])
    assert enqueue_candidates(now=NOW) == 0


def test_candidate_that_is_being_measured_is_not_reported() -> None:
    rule(channel(), subjects=["candidates"])
    candidates.started()
    assert enqueue_candidates(now=NOW) == 0


def test_cancelled_comparison_is_not_reported() -> None:
    rule(channel(), subjects=["candidates"])
    cancel_comparison(comparison=candidates.started())
    assert enqueue_candidates(now=NOW) == 0


def test_candidate_that_cannot_be_read_stops_nothing_and_is_tried_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    rule(channel(), subjects=["candidates"])
    candidates.ended(2.4)
    with monkeypatch.context() as broken:
        broken.setattr("dashboard.notifications.selectors.candidates.facts_of", None)
        assert enqueue_candidates(now=NOW) == 0
    assert enqueue_candidates(now=NOW) == 1


# --- Hand-overs


def test_hand_over_reaches_both_people_without_a_rule(
    ada: User, inbox: Mailbox, settings: Any
) -> None:
    settings.EMAIL_URL = "smtp://127.0.0.1"
    settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", inbox.port
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    grace = User.objects.create_user("grace", email="grace@example.org")
    group = alerting.group(assignee=ada)
    alerting.alert(group)
    assignments.hand_over(group=group, to=grace, by=ada, note="reverted, please watch")
    assert deliveries.enqueue_deliveries(now=NOW) == 2
    send_all()
    assert {mail["To"] for mail in inbox.mails} == {"ada@example.org", "grace@example.org"}
    assert "reverted, please watch" in inbox.mails[0].as_string()


def text_of(event: AlertEvent) -> str:
    return compose.event_message(entry_of(event), event.at, None).text


def test_assignment_is_said_once(ada: User) -> None:
    group = alerting.group()
    alerting.alert(group)
    assert text_of(assignments.assign(group=group, to=ada, by=None)).count("Assigned to ada") == 1


def test_assignment_to_nobody_and_its_reason_are_said(ada: User) -> None:
    group = alerting.group(assignee=ada)
    assert "Assigned to nobody: on holiday" in text_of(
        assignments.assign(group=group, to=None, by=None, why="on holiday")
    )


def test_person_without_an_address_or_a_mail_server_gets_no_channel(ada: User) -> None:
    group = alerting.group(assignee=ada)
    assignments.assign(group=group, to=None, by=None)
    assert deliveries.enqueue_deliveries(now=NOW) == 0
    assert not Channel.objects.exists()


def test_own_channel_that_an_administrator_made_is_used(ada: User) -> None:
    own = channel(person=ada)
    group = alerting.group()
    assignments.assign(group=group, to=ada, by=None)
    deliveries.enqueue_deliveries(now=NOW)
    assert Delivery.objects.get().channel == own


def test_name_of_an_own_channel_may_be_taken(ada: User, settings: Any) -> None:
    """An administrator has given the channel that ada once got to nobody."""
    settings.EMAIL_URL = "smtp://127.0.0.1"
    channel(name="ada (own)")
    assignments.assign(group=alerting.group(), to=ada, by=None)
    assert deliveries.enqueue_deliveries(now=NOW) == 1
    assert Channel.objects.get(person=ada).name == "ada (own 2)"


def own_mail(person: User) -> Channel:
    """The channel that a person gets with the first event that concerns them."""
    with override_settings(EMAIL_URL="smtp://127.0.0.1"):
        (key,) = own_channels([person.pk])
    return Channel.objects.get(pk=key)


def test_own_mail_follows_the_accounts_address(ada: User) -> None:
    own = own_mail(ada)
    ada.email = "ada@new.example.org"
    ada.save()
    own.refresh_from_db()
    assert own.url == "mail:ada@new.example.org"


def test_own_mail_that_was_switched_off_begins_again_with_a_new_address(ada: User) -> None:
    own = own_mail(ada)
    Channel.objects.update(enabled=False, problem="550 no such person here")
    ada.email = "ada@new.example.org"
    ada.save()
    own.refresh_from_db()
    assert own.enabled
    assert own.problem == ""


def test_own_channel_elsewhere_stays_when_the_address_changes(ada: User) -> None:
    own = channel("json://chat.example", person=ada)
    ada.email = "ada@new.example.org"
    ada.save()
    own.refresh_from_db()
    assert own.url == "json://chat.example"


def test_own_mail_of_an_account_without_an_address_is_off_and_says_why(ada: User) -> None:
    own = own_mail(ada)
    ada.email = ""
    ada.save()
    own.refresh_from_db()
    assert not own.enabled
    assert own.problem == "The account has no e-mail address."


# --- The digest


def weekly(to: Receiver | Mailbox, **fields: Any) -> Rule:
    made = {"when": "weekly", "at": time(8), "weekday": NOW.weekday(), **fields}
    return rule(channel(to.url), **{"last_digest_at": NOW - timedelta(days=8), **made})


def opened_long_ago(**fields: Any) -> AlertGroup:
    """A confirmed group that no event of the last weeks is about."""
    group = confirmed(**fields).group
    AlertEvent.objects.filter(group=group).update(at=NOW - timedelta(days=30))
    return group


def sent_digest(hook: Receiver) -> dict[str, Any]:
    assert deliveries.make_digests(now=NOW) == 1
    send_all()
    return document(hook)


def test_digest_lists_what_is_still_open_and_who_has_it(ada: User, hook: Receiver) -> None:
    weekly(hook)
    group = opened_long_ago(assignee=ada)
    posted = sent_digest(hook)
    assert posted["subject"].endswith("0 new, 1 still open")
    (listed,) = posted["open"]
    assert (listed["id"], listed["assignee"]) == (group.pk, "ada")


def test_digest_has_what_is_new_once(hook: Receiver) -> None:
    weekly(hook)
    confirmed()
    AlertEvent.objects.update(at=NOW - timedelta(days=7, hours=1))
    posted = sent_digest(hook)
    assert posted["subject"].endswith("1 new, 0 still open")
    assert posted["open"] == []


def test_digest_lists_what_somebody_took_as_open(ada: User, hook: Receiver) -> None:
    weekly(hook)
    group = opened_long_ago()
    triage.move(group=group, to=AlertState.ACKNOWLEDGED, by=ada)
    assert [alert["state"] for alert in sent_digest(hook)["open"]] == ["acknowledged"]


@pytest.mark.parametrize(
    "fields", [{"direction": "improvement"}, {"workflow_state": "fixed"}, {"severity": "low"}]
)
def test_what_got_better_is_closed_or_not_selected_is_not_still_open(
    hook: Receiver, fields: dict[str, str]
) -> None:
    weekly(hook, minimum_severity="medium")
    group = opened_long_ago()
    AlertGroup.objects.filter(pk=group.pk).update(**fields)
    assert deliveries.make_digests(now=NOW) == 0


def test_mail_of_the_digest_names_what_is_still_open(inbox: Mailbox, settings: Any) -> None:
    settings.ALLOW_PRIVATE_WEBHOOKS = True
    weekly(inbox)
    opened_long_ago()
    deliveries.make_digests(now=NOW)
    send_all()
    for kind in ("text/html", "text/plain"):
        (part,) = inbox.parts(kind)
        assert "confirmed, unassigned, opened" in part.get_content()


# --- Rules in words and in the form


def test_subjects_of_a_rule_in_words() -> None:
    made = rule(subjects=["candidates", "hand_overs"])
    assert conditions(made) == ["release candidates", "hand-overs"]


def test_form_refuses_candidates_in_a_digest() -> None:
    data = {
        "channels": [channel().pk],
        "subjects": ["candidates"],
        "minimum_severity": "low",
        "when": "daily",
        "at": "08:00",
        "time_zone": "UTC",
        "minimum_effect_percent": 0,
    }
    assert "subjects" in RuleForm(data).errors
