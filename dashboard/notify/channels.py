"""The ways out, one row each: how an address begins, and what sends to it. docs/alerts.md says how to add one."""

from collections.abc import Callable

from dashboard.notify import services, webhook
from dashboard.notify.message import Address, Message

Send = Callable[[Address, Message, str], str]

WAYS: tuple[tuple[str, Send], ...] = (
    # how the URL begins, send(address, message, delivery) -> the channel's answer; raises NotSent
    (webhook.PREFIX, webhook.send),
    ("", services.send),
)


def send(to: Address, message: Message, delivery: str) -> str:
    """Send the message now; the channel's answer. delivery: its id, the same at each try. Raises NotSent."""
    way = next(found for prefix, found in WAYS if to.url.startswith(prefix))
    return way(to, message, delivery)
