"""Channels, rules and events, so that a test says only what matters to it."""

from typing import Any

from django.utils import timezone

from dashboard.alerts.services import triage
from dashboard.models import AlertEvent, AlertGroup, AlertState, Channel, Delivery, Rule
from dashboard.notifications.transports.message import Address, Message
from tests.builders import alerting

NOW = timezone.now()


def channel(url: str = "json://nowhere.example", **fields: Any) -> Channel:
    return Channel.objects.create(
        **{"name": f"channel {Channel.objects.count()}", "url": url, **fields}
    )


def rule(*channels: Channel, **fields: Any) -> Rule:
    """A rule that wants everything confirmed or recovered, at once."""
    made = Rule.objects.create(**{"name": f"rule {Rule.objects.count()}", **fields})
    made.channels.set(channels)
    return made


def confirmed(**fields: Any) -> AlertEvent:
    """The event by which a group with one alert, 6.2% slower, was confirmed."""
    group = alerting.group(state=AlertState.CONFIRMING, **fields)
    alerting.alert(group)
    return triage.move(
        group=AlertGroup.objects.get(pk=group.pk), to=AlertState.CONFIRMED, why="In 6 pairs."
    )


def waiting(**fields: Any) -> Delivery:
    """A delivery of a confirmed event that is due."""
    event = confirmed()
    return Delivery.objects.create(
        **{
            "channel": channel(),
            "event": event,
            "next_at": NOW,
            **fields,
        }
    )


def taken(to: Address, message: Message, delivery: str) -> str:
    """A channel that takes everything."""
    return "taken"
