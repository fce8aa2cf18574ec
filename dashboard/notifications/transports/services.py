"""Mail, chat and everything else that Apprise knows (https://appriseit.com): one URL a channel."""

import logging
import tempfile
from pathlib import Path

import apprise

from dashboard.notifications.transports.message import IMAGE_NAME, Address, Message, NotSent

MAIL = ("mailto", "mailtos")
# Apprise's webhooks: they reach any address, unsigned
GENERIC = ("json", "jsons", "xml", "xmls", "form", "forms")

_FORMAT = "%(levelname)s %(message)s"
_MOST_REASON = 1000


def send(to: Address, message: Message, delivery: str) -> str:
    """Hand the message to the service of the URL; what is known of its answer. Raises NotSent."""
    service = service_of(to)
    html = _scheme(to.url) in MAIL  # Apprise makes the text part of a mail from its HTML
    with (
        tempfile.TemporaryDirectory() as folder,
        apprise.LogCapture(level=logging.DEBUG, fmt=_FORMAT) as said,
    ):
        sent = service.notify(
            body=message.html if html else message.text,
            title=message.subject,
            body_format=apprise.NotifyFormat.HTML if html else apprise.NotifyFormat.TEXT,
            attach=_attached(message, Path(folder)) if service.attachment_support else None,
        )
        told = said.getvalue()
    if not sent:
        raise NotSent(
            reason(told) or f"{service.service_name} did not take the message and gave no reason."
        )
    return f"{service.service_name} took it."


def service_of(to: Address) -> apprise.NotifyBase:
    """Apprise's service of a URL; mail with the chart in its place. Raises NotSent for what cannot
    be used.
    """
    url, scheme = to.url, _scheme(to.url)
    if scheme in GENERIC and not to.allow_private:
        raise NotSent(
            f"{scheme}:// would send to any address, unsigned: use webhook+https://… instead.",
            permanent=True,
        )
    if scheme in MAIL:
        url += f"{'&' if '?' in url else '?'}inline=yes&format=html"
    service = apprise.Apprise.instantiate(url)
    if service is None:
        raise NotSent(
            f"Apprise does not understand this {scheme}:// address: compare it with "
            "https://appriseit.com/services.",
            permanent=True,
        )
    return service


def reason(told: str) -> str:
    """Why a service did not take it, from Apprise's log: warnings, and of the rest what names an
    exception.

    The server's own words stand in the debug lines; what else those hold may be a secret, and is
    left out.
    """
    lines = (line.partition(" ") for line in told.splitlines())
    kept = [
        text for level, _, text in lines if level in {"WARNING", "ERROR"} or "Exception" in text
    ]
    return " ".join(kept)[:_MOST_REASON]


def masked(url: str) -> str:
    """The URL with Apprise's stars in place of passwords and tokens, without its options."""
    service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    return str(service.url(privacy=True)).partition("?")[0] if service else f"{_scheme(url)}://…"


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower()


def _attached(message: Message, folder: Path) -> apprise.AppriseAttachment | None:
    """The chart as a file: Apprise takes attachments as files."""
    if message.image is None:
        return None
    file = folder / IMAGE_NAME
    file.write_bytes(message.image)
    return apprise.AppriseAttachment(str(file))
