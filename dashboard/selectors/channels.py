"""Channels that stopped working, for who looks after them."""

from dashboard.models import Channel


def switched_off() -> list[Channel]:
    """Channels that were switched off because nothing arrived. One that a person switched off has no problem."""
    return list(Channel.objects.filter(enabled=False).exclude(problem=""))
