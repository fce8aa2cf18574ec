"""Who is told what: events meet rules, deliveries are claimed and sent, digests fall due.

1. `enqueue_deliveries`: each event is asked for once; what a rule wants becomes a Delivery for each of its
   channels.
2. `make_digests`: a digest that is due becomes one Delivery for each channel of its rule.
3. `send`: the message is made, the delivery claimed by one conditional UPDATE, and only then the
   channel asked, outside of any transaction. A channel that says no is asked again, later and
   later; one that will never say yes is switched off, with the reason. A sender that was killed
   while it asked leaves a delivery that nobody sends again: whether it arrived is unknown, and
   nobody is told twice.
"""

from collections.abc import Callable, Iterable
from datetime import UTC, datetime, timedelta

import structlog
from django.conf import settings
from django.db import transaction
from django.urls import reverse

from dashboard.models import AlertEvent, Channel, Delivery, Rule
from dashboard.notifications.core.rules import When, last_due, wants
from dashboard.notifications.selectors import messages
from dashboard.notifications.transports import channels, compose
from dashboard.notifications.transports.message import Address, Message, NotSent

RETRY_AFTER_S = (60, 300, 1800, 7200, 21600)  # then its tries are spent: nine hours after the first
SENDING_S = 300  # a delivery that is being sent for longer lost its sender
EVENTS_AT_ONCE = 200
TEST = "test"
KILLED = (
    "The sender was stopped while it sent: whether the message arrived is unknown. It is not "
    "sent again, so that"
    " nobody is told twice."
)
Transport = Callable[[Address, Message, str], str]

logger = structlog.get_logger(__name__)


def enqueue_deliveries(*, now: datetime) -> int:
    """Ask the rules for the events that came since; how many deliveries were made."""
    with transaction.atomic():
        waiting = AlertEvent.objects.select_for_update(skip_locked=True, of=("self",)).filter(
            considered_at=None
        )
        events = list(waiting.select_related("group").order_by("pk")[:EVENTS_AT_ONCE])
        rules = _rules(Rule.When.AT_ONCE) if events else []
        made = [
            Delivery(channel_id=channel, event=event, next_at=now)
            for event in events
            for channel in _channels_for(event, rules)
        ]
        Delivery.objects.bulk_create(made, ignore_conflicts=True)
        AlertEvent.objects.filter(pk__in=[event.pk for event in events]).update(considered_at=now)
    return len(made)


def _rules(when: str | None = None) -> list[Rule]:
    found = Rule.objects.filter(enabled=True).prefetch_related("channels", "machines", "tracks")
    return list(found.filter(when=when) if when else found.exclude(when=Rule.When.AT_ONCE))


def _channels_for(event: AlertEvent, rules: Iterable[Rule]) -> list[int]:
    """Every channel of every rule that wants the event, each once."""
    facts = messages.facts_of(event)
    found = {
        channel.pk
        for rule in rules
        if wants(messages.wanted_of(rule), facts)
        for channel in rule.channels.all()
    }
    return sorted(found)


def make_digests(*, now: datetime) -> int:
    """Make the deliveries of digests that have fallen due; how many. A digest without an alert is
    not sent.
    """
    return sum(_make_digest(rule, now) for rule in _rules())


def _make_digest(rule: Rule, now: datetime) -> int:
    when: When = "weekly" if rule.when == Rule.When.WEEKLY else "daily"
    assert rule.at is not None  # the form asks for it
    due = last_due(now, when, rule.at, rule.time_zone, rule.weekday or 0)
    start = rule.last_digest_at
    if start is not None and start >= due:
        return 0
    with transaction.atomic():
        # Only one of two schedulers moves it on. A new rule begins with the period in which it was
        # made.
        moved = Rule.objects.filter(pk=rule.pk, last_digest_at=start).update(last_digest_at=due)
        if not moved or start is None or not _wanted_events(rule, start, due):
            return 0
        digest = f"{rule.pk} {start.astimezone(UTC):%Y-%m-%dT%H:%M:%S}/{due.astimezone(UTC):%Y-%m-%dT%H:%M:%S}"
        made = [
            Delivery(channel=channel, digest=digest, next_at=now) for channel in rule.channels.all()
        ]
        return len(Delivery.objects.bulk_create(made, ignore_conflicts=True))


def _wanted_events(rule: Rule, start: datetime, end: datetime) -> list[AlertEvent]:
    """The last wanted event of each group in the period, oldest first."""
    wanted = messages.wanted_of(rule)
    last = {
        event.group_id: event
        for event in messages.events_between(start, end)
        if wants(wanted, messages.facts_of(event))
    }
    return sorted(last.values(), key=lambda event: (event.at, event.pk))


def due(*, now: datetime) -> list[int]:
    """Deliveries that can be sent now, the oldest first; those that lost their sender are ended."""
    lost = Delivery.objects.filter(state=Delivery.State.SENDING, next_at__lte=now)
    lost.update(state=Delivery.State.FAILED, answer=KILLED)
    found = Delivery.objects.filter(
        state=Delivery.State.WAITING, next_at__lte=now, channel__enabled=True
    )
    return list(found.order_by("next_at").values_list("pk", flat=True)[:EVENTS_AT_ONCE])


def send(*, delivery_id: int, now: datetime, transport: Transport = channels.send) -> bool:
    """Send one delivery that is due; whether this call sent it.

    The message is made before the claim, so that what goes wrong in making it harms nobody.
    """
    delivery = (
        Delivery.objects.select_related("channel", "event__group").filter(pk=delivery_id).first()
    )
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
    try:
        answer = transport(address_of(delivery.channel), message, str(delivery.pk))
    except NotSent as refusal:
        _not_sent(delivery, refusal, now)
        return False
    _end(delivery, state=Delivery.State.SENT, sent_at=now, answer=answer)
    return True


def _claim(delivery: Delivery, now: datetime) -> bool:
    """One conditional UPDATE: of all who try, one gets it. A channel that is off can be tested all
    the same.

    No join: Django would make it a subquery, which Postgres does not look at again after it has
    waited for the row.
    """
    mine = Delivery.objects.filter(
        pk=delivery.pk, state=Delivery.State.WAITING, attempts=delivery.attempts, next_at__lte=now
    )
    if not _is_test(delivery):
        mine = mine.filter(channel__in=Channel.objects.filter(enabled=True))
    until = now + timedelta(seconds=SENDING_S)
    return bool(
        mine.update(state=Delivery.State.SENDING, attempts=delivery.attempts + 1, next_at=until)
    )


def _is_test(delivery: Delivery) -> bool:
    return delivery.digest.startswith(TEST)


def _not_sent(delivery: Delivery, refusal: NotSent, now: datetime) -> None:
    """Try again later; where that is of no use, or was done often enough, give up and switch the
    channel off.
    """
    logger.warning(
        "not sent", channel=delivery.channel.name, delivery=delivery.pk, why=str(refusal)
    )
    tried = delivery.attempts  # before this try
    if not refusal.permanent and tried < len(RETRY_AFTER_S):
        _end(
            delivery,
            state=Delivery.State.WAITING,
            next_at=now + timedelta(seconds=RETRY_AFTER_S[tried]),
            answer=str(refusal),
        )
        return
    with transaction.atomic():
        _end(delivery, state=Delivery.State.FAILED, answer=str(refusal))
        if not _is_test(delivery):
            problem = f"Switched off {now:%Y-%m-%d %H:%M} UTC, after {tried + 1} tries: {refusal}"
            Channel.objects.filter(pk=delivery.channel_id).update(enabled=False, problem=problem)


def _end(delivery: Delivery, **fields: object) -> None:
    """Write what became of a try, unless somebody has ended the delivery in between."""
    Delivery.objects.filter(pk=delivery.pk, state=Delivery.State.SENDING).update(**fields)


def message_of(delivery: Delivery) -> Message | None:
    """The message of an event, of a digest's period, or of a test; None for a digest whose rule was
    deleted.
    """
    if delivery.event is not None:
        event = delivery.event
        return compose.event_message(
            messages.entry_of(event), event.at, messages.picture_of(event.group)
        )
    if _is_test(delivery):
        return compose.test_message(delivery.channel.name, delivery.created_at, _page("overview"))
    key, _, period = delivery.digest.partition(" ")
    start, end = (
        datetime.fromisoformat(moment).replace(tzinfo=UTC) for moment in period.split("/")
    )
    rule = Rule.objects.filter(pk=key).first()
    if rule is None:
        return None
    entries = [messages.entry_of(event) for event in _wanted_events(rule, start, end)]
    return compose.digest_message(rule.name, entries, start, end, _page("alerts"))


def _page(name: str) -> str:
    return f"{settings.SITE_URL}{reverse(name)}"


def address_of(channel: Channel) -> Address:
    return Address(channel.url, channel.secret, settings.ALLOW_PRIVATE_WEBHOOKS)


def send_test(*, channel: Channel, now: datetime) -> Delivery:
    """Send a test now, once, and wait for the channel's answer: the returned delivery has it."""
    delivery = Delivery.objects.create(
        channel=channel, digest=f"{TEST} {now.isoformat()}", next_at=now
    )
    delivery.attempts = len(RETRY_AFTER_S)  # no second try: a person waits for the answer
    delivery.save(update_fields=["attempts"])
    send(delivery_id=delivery.pk, now=now)
    delivery.refresh_from_db()
    return delivery


def send_again(*, deliveries: Iterable[Delivery], now: datetime) -> int:
    """Let deliveries that failed be tried anew, by a person who knows that they did not arrive."""
    keys = [delivery.pk for delivery in deliveries]
    failed = Delivery.objects.filter(state=Delivery.State.FAILED, pk__in=keys)
    return failed.update(state=Delivery.State.WAITING, attempts=0, next_at=now)
