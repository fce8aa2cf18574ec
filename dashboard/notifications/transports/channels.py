"""The transports, one row each; docs/alerts.md says how to add one."""

from collections.abc import Callable
from dataclasses import dataclass

from dashboard.notifications.core.kinds import MAIL_PREFIX, WEBHOOK_PREFIX
from dashboard.notifications.transports import mail, services, webhook
from dashboard.notifications.transports.message import Address, Message


@dataclass(frozen=True, slots=True)
class Transport:
    """One way to send messages.

    prefix: how its URLs begin.
    send: (address, message, delivery) -> the channel's answer; raises NotSent.
    check: raises NotSent for an address that cannot work.
    masked: its URL without secrets, for pages.
    """

    prefix: str
    send: Callable[[Address, Message, str], str]
    check: Callable[[Address], object]
    masked: Callable[[str], str]


TRANSPORTS = (
    Transport(WEBHOOK_PREFIX, webhook.send, webhook.check, webhook.masked),
    Transport(MAIL_PREFIX, mail.send, mail.recipients_of, mail.masked),
    Transport("", services.send, services.service_of, services.masked),
)


def send(to: Address, message: Message, delivery: str) -> str:
    """Send the message now; the channel's answer. Raises NotSent.

    delivery: its id, the same at each try.
    """
    return _transport_of(to.url).send(to, message, delivery)


def check(to: Address) -> None:
    """Raises NotSent for an address that cannot work. Nothing is sent, no name is resolved."""
    _transport_of(to.url).check(to)


def masked(url: str) -> str:
    """A channel's URL without secrets, for pages."""
    return _transport_of(url).masked(url)


def _transport_of(url: str) -> Transport:
    return next(transport for transport in TRANSPORTS if url.startswith(transport.prefix))
