"""The ways out, one row each: how an address begins, and what sends to it. docs/alerts.md says how
to add one.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.notifications.transports import services, webhook
from dashboard.notifications.transports.message import Address, Message


@dataclass(frozen=True, slots=True)
class Transport:
    """One way out.

    prefix: how its URLs begin. send: (address, message, delivery) -> the channel's answer; raises
        NotSent.
    check: raises NotSent for an address that cannot work. masked: its URL as people may see it,
        without secrets.
    """

    prefix: str
    send: Callable[[Address, Message, str], str]
    check: Callable[[Address], object]
    masked: Callable[[str], str]


WAYS = (
    Transport(webhook.PREFIX, webhook.send, webhook.target_of, webhook.masked),
    Transport("", services.send, services.service_of, services.masked),
)


def send(to: Address, message: Message, delivery: str) -> str:
    """Send the message now; the channel's answer. delivery: its id, the same at each try. Raises
    NotSent.
    """
    return _way(to.url).send(to, message, delivery)


def check(to: Address) -> None:
    """Raises NotSent for an address that cannot work. Nothing is sent, no name is resolved."""
    _way(to.url).check(to)


def masked(url: str) -> str:
    """A channel's URL as people may see it."""
    return _way(url).masked(url)


def _way(url: str) -> Transport:
    return next(way for way in WAYS if url.startswith(way.prefix))
