"""Delivery of notifications: events meet rules, deliveries are claimed and sent, digests fall due.

1. `enqueue_deliveries`: each event is considered once; each channel of a rule that selects it gets
   a Delivery.
2. `make_digests`: a digest that is due becomes one Delivery for each channel of its rule.
   Release candidates have a module of their own (candidates.py).
3. `send`: the message is made, one conditional UPDATE claims the delivery, and only then is the
   channel asked, outside of any transaction. A channel that refuses is asked again, at longer and
   longer intervals; one that will never accept is switched off, with the reason. Where the sender
   failed or was killed while sending, whether the message arrived is unknown. Our own webhook gets
   it again: its receiver knows the delivery's id. People are not notified twice.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.db.models import QuerySet
from django.urls import reverse

from dashboard.language.moments import stamp
from dashboard.models import AlertEvent, AlertGroup, Channel, Delivery, Rule
from dashboard.notifications.core.kinds import TEST, WEBHOOK_PREFIX
from dashboard.notifications.core.rules import When, last_due, selects
from dashboard.notifications.selectors import candidates, messages
from dashboard.notifications.services.own_channels import own_channels
from dashboard.notifications.transports import channels, compose
from dashboard.notifications.transports.compose_candidate import candidate_message
from dashboard.notifications.transports.message import Address, Message, NotSent

RETRY_AFTER_S = (60, 300, 1800, 7200, 21600)  # then the tries are spent: nine hours after the first
SENDER_LIMIT_S = 120  # then the process that sends is killed: a worker has two for everything
SENDING_S = (
    300  # longer than that: a delivery that has been "sending" for longer has lost its sender
)
EVENTS_AT_ONCE = 200
KILLED = "The sender was stopped while it sent: whether the message arrived is unknown. "
NOT_AGAIN = f"{KILLED}It is not sent again, so that nobody is notified twice."
AGAIN = f"{KILLED}It is sent again, under the same delivery id."
FAULT = (
    "The site failed with {} while it sent: whether the message arrived is unknown. "
    "The site's log has the details."
)
Send = Callable[[Address, Message, str], str]

logger = structlog.get_logger(__name__)


def enqueue_deliveries(*, now: datetime) -> int:
    """Match the new events against the rules; how many deliveries were made."""
    with transaction.atomic():
        waiting = AlertEvent.objects.select_for_update(skip_locked=True, of=("self",)).filter(
            considered_at=None
        )
        events = list(waiting.select_related("group").order_by("pk")[:EVENTS_AT_ONCE])
        if not events:
            return 0
        rules = list(_enabled_rules().filter(when=Rule.When.AT_ONCE))
        new: list[Delivery] = []
        for event in events:
            facts = messages.facts_of(event)
            # Those of the people whom it concerns, and every channel of every rule that selects
            # the event, each once
            channel_ids = own_channels(event.people)
            for rule in rules:
                if selects(messages.selection_of(rule), facts):
                    channel_ids |= {channel.pk for channel in rule.channels.all()}
            for channel in sorted(channel_ids):
                new.append(Delivery(channel_id=channel, event=event, next_at=now))
        Delivery.objects.bulk_create(new, ignore_conflicts=True)
        AlertEvent.objects.filter(pk__in=[event.pk for event in events]).update(considered_at=now)
    return len(new)


def _enabled_rules() -> QuerySet[Rule]:
    return Rule.objects.filter(enabled=True).prefetch_related("channels", "machines", "tracks")


def make_digests(*, now: datetime) -> int:
    """Make the deliveries of digests that are due; how many. An empty one is not sent."""
    made = 0
    for rule in _enabled_rules().exclude(when=Rule.When.AT_ONCE):
        try:
            made += _make_digest(rule, now)
        except Exception:  # it is tried again, and does not keep the others waiting
            logger.exception("digest could not be made", rule=rule.pk)
    return made


def _make_digest(rule: Rule, now: datetime) -> int:
    when: When = "weekly" if rule.when == Rule.When.WEEKLY else "daily"
    assert rule.at is not None  # the form asks for it
    due = last_due(now, when, rule.at, rule.time_zone, rule.weekday or 0)
    start = rule.last_digest_at
    if start is not None and start >= due:
        return 0
    with transaction.atomic():
        # Of two schedulers, only one moves it on
        moved = Rule.objects.filter(pk=rule.pk, last_digest_at=start).update(last_digest_at=due)
        # The first period of a new rule is the one in which it was made: it has no digest yet
        if not moved or start is None:
            return 0
        # The rule and the period, as `message_of` reads them
        first, last = start.astimezone(UTC), due.astimezone(UTC)
        period = f"{rule.pk} {first:%Y-%m-%dT%H:%M:%S}/{last:%Y-%m-%dT%H:%M:%S}"
        if not any(_digest_of(rule, start, due)):
            return 0
        new = []
        for channel in rule.channels.all():
            new.append(Delivery(channel=channel, digest=period, next_at=now))
        return len(Delivery.objects.bulk_create(new, ignore_conflicts=True))


def _digest_of(
    rule: Rule, start: datetime, end: datetime
) -> tuple[list[AlertEvent], list[AlertGroup]]:
    """The last event of each group that the rule selects in the period, oldest first; and the other
    groups that it selects and that are still open.
    """
    selection = messages.selection_of(rule)
    last: dict[int, AlertEvent] = {}
    for event in messages.events_between(start, end):
        if selects(selection, messages.facts_of(event)):
            last[event.group_id] = event
    still_open = []
    for event in messages.events_of_open(rule, end):
        if event.group_id not in last and selects(selection, messages.facts_of(event)):
            still_open.append(event.group)
    return sorted(last.values(), key=lambda event: (event.at, event.pk)), still_open


def due(*, now: datetime) -> list[int]:
    """Deliveries that can be sent now, oldest first; those that lost their sender are ended, or
    wait again.
    """
    lost = Delivery.objects.filter(state=Delivery.State.SENDING, next_at__lte=now)
    webhooks = Channel.objects.filter(url__startswith=WEBHOOK_PREFIX)
    repeatable = lost.filter(channel__in=webhooks, attempts__lte=len(RETRY_AFTER_S))
    repeatable.exclude(digest__startswith=TEST).update(state=Delivery.State.WAITING, answer=AGAIN)
    lost.update(state=Delivery.State.FAILED, answer=NOT_AGAIN)
    waiting = Delivery.objects.filter(
        state=Delivery.State.WAITING, next_at__lte=now, channel__enabled=True
    )
    return list(waiting.order_by("next_at").values_list("pk", flat=True)[:EVENTS_AT_ONCE])


def send(*, delivery_id: int, now: datetime, transport: Send = channels.send) -> bool:
    """Send one delivery that is due; whether this call sent it.

    The message is made before the claim, so that an error in making it does no harm.
    """
    deliveries = Delivery.objects.select_related(
        "channel",
        "event__group__assignee",
        "comparison__base",
        "comparison__new",
        "comparison__machine",
        "comparison__track",
    )
    delivery = deliveries.filter(pk=delivery_id).first()
    if delivery is None or delivery.state != Delivery.State.WAITING:
        return False
    message = message_of(delivery)
    if message is None:
        Delivery.objects.filter(pk=delivery_id).update(
            state=Delivery.State.FAILED, answer="Its rule was deleted."
        )
        return False
    if not _claim(delivery, now):
        return False
    channel = delivery.channel
    try:
        address = Address(channel.url, channel.secret, settings.ALLOW_PRIVATE_WEBHOOKS)
        answer = transport(address, message, str(delivery.pk))
    except NotSent as refusal:
        _not_sent(delivery, refusal, now)
        return False
    except Exception as error:  # a fault of this site, not an answer of the channel
        # Its text may hold the channel's address: that is for the log alone
        logger.exception("could not be sent", delivery=delivery_id)
        answer = FAULT.format(type(error).__name__)
        if channel.url.startswith(WEBHOOK_PREFIX) and _may_retry(delivery):
            _retry_later(delivery, answer, now)
        else:
            _end(delivery, state=Delivery.State.FAILED, answer=answer)
        return False
    _end(delivery, state=Delivery.State.SENT, sent_at=now, answer=answer)
    return True


def _claim(delivery: Delivery, now: datetime) -> bool:
    """One conditional UPDATE: of all who try, one gets it. A channel that is off can be tested.

    No join: Django would make it a subquery, which Postgres does not evaluate again after it has
    waited for the row.
    """
    claimable = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.WAITING, attempts=delivery.attempts, next_at__lte=now
    )
    if not _is_test(delivery):
        claimable = claimable.filter(channel__in=Channel.objects.filter(enabled=True))
    claimed = claimable.update(
        state=Delivery.State.SENDING,
        attempts=delivery.attempts + 1,
        next_at=now + timedelta(seconds=SENDING_S),
    )
    return bool(claimed)


def _is_test(delivery: Delivery) -> bool:
    return delivery.digest.startswith(TEST)


def _not_sent(delivery: Delivery, refusal: NotSent, now: datetime) -> None:
    """Try again later; give up and switch the channel off where that is no use, or was enough."""
    logger.warning(
        "not sent", channel=delivery.channel.name, delivery=delivery.pk, why=str(refusal)
    )
    if not refusal.permanent and _may_retry(delivery):
        _retry_later(delivery, str(refusal), now)
        return
    with transaction.atomic():
        _end(delivery, state=Delivery.State.FAILED, answer=str(refusal))
        if not _is_test(delivery):
            tries = delivery.attempts + 1
            problem = f"Switched off {stamp(now)}, after {tries} tries: {refusal}"
            Channel.objects.filter(pk=delivery.channel_id).update(enabled=False, problem=problem)


def _may_retry(delivery: Delivery) -> bool:
    """Test whether tries are left. A test has no second one: a person waits for the answer."""
    return not _is_test(delivery) and delivery.attempts < len(RETRY_AFTER_S)


def _retry_later(delivery: Delivery, answer: str, now: datetime) -> None:
    retry_at = now + timedelta(seconds=RETRY_AFTER_S[delivery.attempts])
    _end(delivery, state=Delivery.State.WAITING, next_at=retry_at, answer=answer)


def _end(delivery: Delivery, **fields: object) -> None:
    """Write the outcome of a try, unless somebody has ended the delivery in between."""
    Delivery.objects.filter(pk=delivery.pk, state=Delivery.State.SENDING).update(**fields)


def message_of(delivery: Delivery) -> Message | None:
    """The message of an event, a release candidate, a digest or a test; None where the rule of the
    digest was deleted.
    """
    event = delivery.event
    if delivery.comparison is not None:
        candidate = candidates.entry_of(delivery.comparison)
        return candidate_message(candidate, delivery.created_at)
    if event is not None:
        entry = messages.entry_of(event)
        return compose.event_message(entry, event.at, messages.picture_of(event.group))
    if _is_test(delivery):
        return compose.test_message(delivery.channel.name, delivery.created_at, _page("home"))
    key, _, period = delivery.digest.partition(" ")
    first, _, last = period.partition("/")
    start = datetime.fromisoformat(first).replace(tzinfo=UTC)
    end = datetime.fromisoformat(last).replace(tzinfo=UTC)
    rule = Rule.objects.filter(pk=key).first()
    if rule is None:
        return None
    events, groups = _digest_of(rule, start, end)
    entries = [messages.entry_of(event) for event in events]
    still_open = [messages.open_alert(group) for group in groups]
    return compose.digest_message(rule.name, entries, still_open, (start, end), _page("alerts"))


def _page(name: str) -> str:
    return f"{settings.SITE_URL}{reverse(name)}"


def send_test(*, channel: Channel, now: datetime) -> Delivery:
    """Send a test now, once, and wait for the channel's answer: the returned delivery has it."""
    delivery = Delivery.objects.create(
        channel=channel, digest=f"{TEST} {now.isoformat()}", next_at=now
    )
    send(delivery_id=delivery.pk, now=now)
    delivery.refresh_from_db()
    return delivery


def send_again(*, deliveries: Iterable[Delivery], now: datetime) -> int:
    """Let failed deliveries be tried again, by a person who knows that they did not arrive."""
    keys = [delivery.pk for delivery in deliveries]
    failed = Delivery.objects.filter(state=Delivery.State.FAILED, pk__in=keys)
    return failed.update(state=Delivery.State.WAITING, attempts=0, next_at=now)
