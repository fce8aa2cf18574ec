"""Kinds of channels, as people know them, and the URLs that are stored for them. Pure."""

from enum import StrEnum
from urllib.parse import urlsplit

MAIL_PREFIX = "mail:"
WEBHOOK_PREFIX = "webhook+"
TEST = "test"  # how Delivery.digest begins for one; else with the rule's key
_SLACK_PAGES = "https://hooks.slack.com/services/"
_TEAMS_HOSTS = (".logic.azure.com", ".powerplatform.com")


class Kind(StrEnum):
    MAIL = "mail"
    SLACK = "slack"
    TEAMS = "teams"
    WEBHOOK = "webhook"
    OTHER = "other"


def kind_of(url: str) -> Kind:
    """The kind of a stored URL."""
    if url.startswith(MAIL_PREFIX):
        return Kind.MAIL
    if url.startswith(WEBHOOK_PREFIX):
        return Kind.WEBHOOK
    if url.startswith(("slack://", _SLACK_PAGES)):
        return Kind.SLACK
    if url.startswith(("workflow://", "workflows://")) or _is_teams(url):
        return Kind.TEAMS
    return Kind.OTHER


def url_of(kind: Kind, text: str) -> str:
    """The URL to store for what a person pasted. Raises ValueError, which says what is wrong."""
    text = text.strip()
    if kind == Kind.MAIL:
        recipients = text.replace(";", " ").replace(",", " ").split()
        return MAIL_PREFIX + ", ".join(recipients)
    if kind == Kind.WEBHOOK:
        return text if text.startswith(WEBHOOK_PREFIX) else WEBHOOK_PREFIX + text
    if kind == Kind.SLACK and kind_of(text) != Kind.SLACK:
        raise ValueError(f"A Slack webhook begins with {_SLACK_PAGES}, and this does not.")
    if kind == Kind.TEAMS and kind_of(text) != Kind.TEAMS:
        raise ValueError(
            "This is not the address of a Teams workflow. Its host ends in "
            f"{' or '.join(host[1:] for host in _TEAMS_HOSTS)}."
        )
    if kind == Kind.OTHER and "://" not in text:
        if "@" in text:
            raise ValueError(f"{text} is an e-mail address: choose E-mail as the kind.")
        raise ValueError(
            "An Apprise address begins with the name of its service and ://, as discord://."
        )
    return text


def _is_teams(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    return url.startswith("https://") and host.endswith(_TEAMS_HOSTS)
