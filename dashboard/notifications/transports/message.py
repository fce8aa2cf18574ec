"""Messages as they are sent: plain values, complete before any channel is asked. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

IMAGE_NAME = "change.png"  # how the HTML part refers to the image: src="cid:change.png"


@dataclass(frozen=True, slots=True)
class Message:
    """One message for any channel.

    subject: one line.
    text, html: the same in two forms; html refers to the image as IMAGE_NAME.
    url: the page that it is about.
    document: what the webhook sends, by webhook.v1.json.
    image: PNG, or None where there is no chart.
    """

    subject: str
    text: str
    html: str
    url: str
    document: Mapping[str, Any] = field(default_factory=dict)
    image: bytes | None = None


@dataclass(frozen=True, slots=True)
class Address:
    """A channel's URL and secret, and whether a webhook may lead into a private network."""

    url: str
    secret: str = ""
    allow_private: bool = False


class NotSent(Exception):
    """The channel did not take the message; the text is its answer, for the log and for pages.

    permanent: trying again would not help: the address is wrong, gone, or forbidden.
    """

    def __init__(self, reason: str, *, permanent: bool = False) -> None:
        super().__init__(reason)
        self.permanent = permanent
