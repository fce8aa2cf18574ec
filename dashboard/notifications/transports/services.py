"""Mail, chat and everything else that Apprise knows (https://appriseit.com): one URL a channel."""

import logging
import tempfile
from contextlib import nullcontext
from functools import partial
from pathlib import Path

import apprise
from apprise.utils.parse import parse_url

from dashboard.notifications.transports.addresses import public_only
from dashboard.notifications.transports.deadline import within_deadline
from dashboard.notifications.transports.message import IMAGE_NAME, Address, Message, NotSent

MAIL = ("mailto", "mailtos")
# Apprise's webhooks: they reach any address, unsigned
GENERIC = ("json", "jsons", "xml", "xmls", "form", "forms")
# They write to this machine's own log or desktop, or send without a connection
LOCAL = ("syslog", "rsyslog", "dbus", "kde", "qt", "glib", "gnome", "macosx", "windows", "blink1")
# Options that name a file of this machine, whose content would be sent
FILES = frozenset({"template", "keyfile", "subfile", "pgpkey", "pgppub", "pgpprv"})

_FORMAT = "%(levelname)s %(message)s"
_MOST_REASON = 1000


def send(to: Address, message: Message, delivery: str) -> str:
    """Hand the message to the URL's service; what Apprise knows of its answer. Raises NotSent."""
    service = service_of(to)
    if _scheme(to.url) in MAIL:  # Apprise makes the text part of a mail from its HTML
        body, body_format = message.html, apprise.NotifyFormat.HTML
    else:
        body, body_format = message.text, apprise.NotifyFormat.TEXT
    with (
        nullcontext() if to.allow_private else public_only(),
        tempfile.TemporaryDirectory() as folder,
        apprise.LogCapture(level=logging.DEBUG, fmt=_FORMAT) as capture,
    ):
        attachment = None
        if service.attachment_support and message.image is not None:
            file = Path(folder, IMAGE_NAME)  # Apprise takes attachments as files
            file.write_bytes(message.image)
            attachment = apprise.AppriseAttachment(str(file))
        notify = partial(
            service.notify,
            body=body,
            title=message.subject,
            body_format=body_format,
            attach=attachment,
        )
        sent = within_deadline(str(service.service_name), notify)
        log = capture.getvalue()
    if not sent:
        no_reason = f"{service.service_name} did not take the message and gave no reason."
        raise NotSent(reason(log) or no_reason)
    return f"{service.service_name} took it."


def service_of(to: Address) -> apprise.NotifyBase:
    """Apprise's service of a URL; raises NotSent for one that cannot be used.

    In a mail the chart stands within the text.
    """
    url, scheme = to.url, _scheme(to.url)
    if scheme in GENERIC and not to.allow_private:
        raise NotSent(
            f"{scheme}:// would send to any address, unsigned: choose Webhook as the kind.",
            permanent=True,
        )
    if scheme in LOCAL:
        raise NotSent(f"{scheme}:// leads nowhere outside of this machine.", permanent=True)
    options = (parse_url(url, verify_host=False) or {}).get("qsd", {})
    if named := sorted(FILES & options.keys()):
        raise NotSent(
            f"The option {named[0]} names a file of the site's machine: leave it out.",
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


def reason(log: str) -> str:
    """Find in Apprise's log why a service did not take the message.

    Kept are warnings and errors, and of the debug lines those that name an exception: they hold the
    server's own words. The other debug lines may hold secrets.
    """
    kept: list[str] = []
    for line in log.splitlines():
        level, _, text = line.partition(" ")
        if level in {"WARNING", "ERROR"} or "Exception" in text:
            kept.append(text)
    return " ".join(kept)[:_MOST_REASON]


def masked(url: str) -> str:
    """The URL with Apprise's stars in place of passwords and tokens, without its options."""
    service = apprise.Apprise.instantiate(url, suppress_exceptions=True)
    if not service:
        return f"{_scheme(url)}://…"
    return str(service.url(privacy=True)).partition("?")[0]


def _scheme(url: str) -> str:
    return url.partition("://")[0].lower()
