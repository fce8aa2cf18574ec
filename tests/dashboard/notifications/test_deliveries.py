"""Events become deliveries, and deliveries are sent: once, later, or not at all."""

from collections.abc import Iterator
from datetime import time, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test import override_settings

from dashboard import tasks
from dashboard.alerts.services import triage
from dashboard.models import AlertEvent, AlertState, Channel, Delivery, Rule
from dashboard.notifications.services import deliveries
from dashboard.notifications.transports.message import Address, Message, NotSent
from tests.builders import alerting
from tests.builders.notifications import NOW, channel, confirmed, rule, taken, waiting
from tests.builders.receivers import Mailbox, Receiver, receiver

pytestmark = pytest.mark.django_db


@pytest.fixture
def hook() -> Iterator[Receiver]:
    with receiver() as made, override_settings(ALLOW_PRIVATE_WEBHOOKS=True):
        yield made


def refusing(*, permanent: bool = False) -> deliveries.Send:
    def transport(to: Address, message: Message, delivery: str) -> str:
        raise NotSent("the box is full", permanent=permanent)

    return transport


def state_of(delivery: Delivery) -> str:
    delivery.refresh_from_db()
    return delivery.state


# --- From events to deliveries
def test_each_channel_gets_one_delivery_even_if_two_rules_match() -> None:
    ops, team = channel(), channel()
    rule(ops, team)
    rule(ops)
    confirmed()
    assert deliveries.enqueue_deliveries(now=NOW) == 2
    assert deliveries.enqueue_deliveries(now=NOW) == 0
    assert set(Delivery.objects.values_list("channel", flat=True)) == {ops.pk, team.pk}


def test_only_a_rule_for_suspected_selects_a_suspicion() -> None:
    quiet, nosy = channel(), channel()
    rule(quiet)
    rule(nosy, states=["suspected"])
    group = alerting.group()
    AlertEvent.objects.create(
        group=group,
        action="opened",
        state=AlertState.SUSPECTED,
    )
    deliveries.enqueue_deliveries(now=NOW)
    assert [delivery.channel for delivery in Delivery.objects.all()] == [nosy]


def test_disabled_rule_makes_no_delivery() -> None:
    rule(channel(), enabled=False)
    confirmed()
    assert deliveries.enqueue_deliveries(now=NOW) == 0


def test_new_rule_ignores_earlier_events() -> None:
    confirmed()
    deliveries.enqueue_deliveries(now=NOW)
    rule(channel())
    assert deliveries.enqueue_deliveries(now=NOW) == 0


def test_rule_for_another_family_makes_no_delivery() -> None:
    rule(channel(), families=["vision"])
    confirmed()
    assert deliveries.enqueue_deliveries(now=NOW) == 0


# --- Sending
def test_mail_arrives_with_its_chart_and_the_answer_is_logged(
    inbox: Mailbox, settings: Any
) -> None:
    settings.ALLOW_PRIVATE_WEBHOOKS = True
    alerting.measured([2.0] * 6 + [2.2] * 6)
    rule(channel(inbox.url))
    event = confirmed()
    event.group.alerts.update(planned_at=alerting.FIRST + timedelta(hours=6))
    deliveries.enqueue_deliveries(now=NOW)
    (delivery,) = deliveries.due(now=NOW)
    assert deliveries.send(delivery_id=delivery, now=NOW)
    assert inbox.mails[0]["Subject"].startswith("[medium] a change")
    assert len(inbox.parts("image/png")) == 1
    sent = Delivery.objects.get()
    assert sent.state == "sent"
    assert sent.attempts == 1
    assert "took it" in sent.answer


def test_webhook_receives_the_event(hook: Receiver) -> None:
    rule(channel(hook.url, secret="s3cret"))
    confirmed()
    deliveries.enqueue_deliveries(now=NOW)
    deliveries.send(delivery_id=deliveries.due(now=NOW)[0], now=NOW)
    assert b'"schema":"webhook.v1"' in hook.requests[0][1]


def test_scheduled_task_notifies_once(hook: Receiver, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        tasks.send_delivery, "apply_async", lambda args, expires: tasks.send_delivery(*args)
    )
    rule(channel(hook.url))
    confirmed()
    tasks.notify()
    tasks.notify()
    assert len(hook.requests) == 1


def test_sent_delivery_is_not_sent_again() -> None:
    delivery = waiting()
    assert deliveries.send(delivery_id=delivery.pk, now=NOW, transport=taken)
    assert not deliveries.send(delivery_id=delivery.pk, now=NOW, transport=taken)


def test_refused_delivery_is_retried_at_growing_intervals() -> None:
    delivery, now = waiting(), NOW
    for wait_s in deliveries.RETRY_AFTER_S:
        deliveries.send(delivery_id=delivery.pk, now=now, transport=refusing())
        assert state_of(delivery) == "waiting"
        assert delivery.next_at == now + timedelta(seconds=wait_s)
        assert deliveries.due(now=now) == []
        now = delivery.next_at
    assert delivery.answer == "the box is full"


def test_channel_is_switched_off_when_its_tries_are_spent() -> None:
    delivery = waiting(attempts=len(deliveries.RETRY_AFTER_S))
    deliveries.send(delivery_id=delivery.pk, now=NOW, transport=refusing())
    assert state_of(delivery) == "failed"
    switched_off = Channel.objects.get()
    assert not switched_off.enabled
    assert "after 6 tries: the box is full" in switched_off.problem


def test_permanent_refusal_ends_the_delivery_at_once() -> None:
    delivery = waiting()
    deliveries.send(
        delivery_id=delivery.pk,
        now=NOW,
        transport=refusing(permanent=True),
    )
    assert state_of(delivery) == "failed"
    assert not Channel.objects.get().enabled


def test_delivery_waits_while_its_channel_is_off() -> None:
    delivery = waiting(channel=channel(enabled=False))
    assert deliveries.due(now=NOW) == []
    assert not deliveries.send(delivery_id=delivery.pk, now=NOW, transport=taken)
    Channel.objects.update(enabled=True)
    assert deliveries.due(now=NOW) == [delivery.pk]


def killed(to: Address, message: Message, key: str) -> str:
    raise KeyboardInterrupt


def test_delivery_of_a_killed_sender_is_not_sent_twice() -> None:
    delivery = waiting()
    with pytest.raises(KeyboardInterrupt):
        deliveries.send(delivery_id=delivery.pk, now=NOW, transport=killed)
    assert state_of(delivery) == "sending"
    assert deliveries.due(now=NOW + timedelta(seconds=deliveries.SENDING_S)) == []
    assert state_of(delivery) == "failed"
    assert delivery.answer == deliveries.NOT_AGAIN


def test_webhook_of_a_killed_sender_is_sent_again_under_its_id(hook: Receiver) -> None:
    delivery = waiting(channel=channel(hook.url))
    with pytest.raises(KeyboardInterrupt):
        deliveries.send(delivery_id=delivery.pk, now=NOW, transport=killed)
    later = NOW + timedelta(seconds=deliveries.SENDING_S)
    assert deliveries.due(now=later) == [delivery.pk]
    assert deliveries.send(delivery_id=delivery.pk, now=later)
    assert hook.requests[0][0]["X-Compilewatch-Delivery"] == str(delivery.pk)


def test_webhook_whose_sender_is_always_killed_is_given_up() -> None:
    delivery = waiting(channel=channel("webhook+https://hooks.example.org"))
    now = NOW
    while pks := deliveries.due(now=now):
        with pytest.raises(KeyboardInterrupt):
            deliveries.send(delivery_id=pks[0], now=now, transport=killed)
        now += timedelta(seconds=deliveries.SENDING_S)
    assert state_of(delivery) == "failed"
    assert delivery.attempts == len(deliveries.RETRY_AFTER_S) + 1


def test_sender_is_killed_before_its_delivery_counts_as_lost() -> None:
    limit_s = tasks.send_delivery.time_limit
    assert limit_s is not None
    assert limit_s < deliveries.SENDING_S


def broken(to: Address, message: Message, key: str) -> str:
    raise UnicodeError("https://hooks.example.org/secret-path")


def test_webhook_is_sent_again_after_an_error_of_the_site() -> None:
    delivery = waiting(channel=channel("webhook+https://hooks.example.org"))
    assert not deliveries.send(delivery_id=delivery.pk, now=NOW, transport=broken)
    assert state_of(delivery) == "waiting"


def test_error_of_the_site_ends_the_delivery_and_says_where_to_look() -> None:
    delivery = waiting()
    assert not deliveries.send(delivery_id=delivery.pk, now=NOW, transport=broken)
    assert state_of(delivery) == "failed"
    assert "UnicodeError" in delivery.answer
    assert "secret-path" not in delivery.answer
    assert Channel.objects.get().enabled


def test_end_that_somebody_wrote_in_between_stays() -> None:
    delivery = waiting()

    def late(to: Address, message: Message, key: str) -> str:
        deliveries.due(now=NOW + timedelta(seconds=deliveries.SENDING_S))
        return "taken"

    deliveries.send(delivery_id=delivery.pk, now=NOW, transport=late)
    assert state_of(delivery) == "failed"
    assert delivery.answer == deliveries.NOT_AGAIN


def test_message_is_sent_outside_of_a_transaction() -> None:
    savepoints = []

    def watching(to: Address, message: Message, key: str) -> str:
        savepoints.append(len(connection.savepoint_ids))
        return "taken"

    delivery = waiting()
    before = len(connection.savepoint_ids)
    deliveries.send(delivery_id=delivery.pk, now=NOW, transport=watching)
    assert savepoints == [before]


def test_failed_delivery_can_be_sent_again_by_hand() -> None:
    delivery = waiting(state="failed", attempts=6)
    assert deliveries.send_again(deliveries=[delivery], now=NOW) == 1
    assert deliveries.due(now=NOW) == [delivery.pk]


def test_test_message_reports_the_answer_of_a_disabled_channel(hook: Receiver) -> None:
    sent = deliveries.send_test(channel=channel(hook.url, enabled=False), now=NOW)
    assert sent.state == "sent"
    assert sent.answer == "200 OK: thank you"


def test_failed_test_message_does_not_switch_the_channel_off() -> None:
    sent = deliveries.send_test(channel=channel("carrier://pigeon"), now=NOW)
    assert sent.state == "failed"
    assert sent.attempts == 1
    assert Channel.objects.get().enabled


def test_test_message_that_nobody_takes_is_tried_once() -> None:
    sent = deliveries.send_test(channel=channel("json://127.0.0.1:1"), now=NOW)
    assert sent.state == "failed"
    assert sent.attempts == 1


# --- Digests
def digest(*channels: Channel, **fields: Any) -> Rule:
    made = {
        "when": "daily",
        "at": time(8),
        "last_digest_at": NOW - timedelta(days=2),
        **fields,
    }
    return rule(*channels, **made)


def test_digest_contains_each_group_of_its_period_once(hook: Receiver) -> None:
    digest(channel(hook.url))
    event = confirmed()
    triage.move(group=event.group, to=AlertState.RECOVERED)
    AlertEvent.objects.update(at=NOW - timedelta(days=1, hours=2))
    assert deliveries.make_digests(now=NOW) == 1
    deliveries.send(delivery_id=deliveries.due(now=NOW)[0], now=NOW)
    body = hook.requests[0][1]
    assert body.count(b'"state":"recovered"') == 1
    assert body.count(b'"state":"confirmed"') == 0


def test_digest_is_made_once() -> None:
    digest(channel())
    confirmed()
    AlertEvent.objects.update(at=NOW - timedelta(days=1, hours=2))
    assert deliveries.make_digests(now=NOW) == 1
    assert deliveries.make_digests(now=NOW) == 0


def test_digest_that_cannot_be_made_does_not_stop_the_others() -> None:
    digest(channel(), time_zone="Mars/Base")
    digest(channel())
    confirmed()
    AlertEvent.objects.update(at=NOW - timedelta(days=1, hours=2))
    assert deliveries.make_digests(now=NOW) == 1


def test_empty_digest_is_not_sent() -> None:
    made = digest(channel())
    assert deliveries.make_digests(now=NOW) == 0
    made.refresh_from_db()
    assert made.last_digest_at is not None
    assert made.last_digest_at > NOW - timedelta(days=1, seconds=1)


def test_new_digest_begins_with_its_first_period() -> None:
    digest(channel(), last_digest_at=None)
    confirmed()
    AlertEvent.objects.update(at=NOW - timedelta(days=3))
    assert deliveries.make_digests(now=NOW) == 0


def test_digest_rule_makes_no_immediate_delivery() -> None:
    digest(channel())
    confirmed()
    assert deliveries.enqueue_deliveries(now=NOW) == 0


def test_digest_of_a_deleted_rule_is_ended() -> None:
    digest(channel())
    confirmed()
    AlertEvent.objects.update(at=NOW - timedelta(days=1, hours=2))
    deliveries.make_digests(now=NOW)
    Rule.objects.all().delete()
    delivery = Delivery.objects.get()
    deliveries.send(delivery_id=delivery.pk, now=NOW, transport=taken)
    assert state_of(delivery) == "failed"
    assert delivery.answer == "Its rule was deleted."
