"""Channels, rules and events, so that a test says only what matters to it."""

from typing import Any

from dashboard.models import AlertEvent, AlertGroup, AlertState, Channel, Rule
from dashboard.services import triage
from tests.builders import alerting


def channel(url: str = "json://nowhere.example", **fields: Any) -> Channel:
    return Channel.objects.create(**{"name": f"channel {Channel.objects.count()}", "url": url, **fields})


def rule(*channels: Channel, **fields: Any) -> Rule:
    """A rule that wants everything confirmed or recovered, at once."""
    made = Rule.objects.create(**{"name": f"rule {Rule.objects.count()}", **fields})
    made.channels.set(channels)
    return made


def confirmed(**fields: Any) -> AlertEvent:
    """The event by which a group with one alert, 6.2 % slower, was confirmed."""
    group = alerting.group(state=AlertState.CONFIRMING, **fields)
    alerting.alert(group)
    return triage.move(group=AlertGroup.objects.get(pk=group.pk), to=AlertState.CONFIRMED, why="In 6 pairs.")
