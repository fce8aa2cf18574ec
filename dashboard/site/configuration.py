"""Checks of configured values, for settings.py: a wrong one raises ImproperlyConfigured."""

from importlib.util import find_spec
from typing import Any
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

import environ
from django.core.exceptions import ImproperlyConfigured
from tzlocal import get_localzone_name

from dashboard.results.core import artifact_store

DATABASE_TIMEOUT_S = 5  # for a new connection; `?connect_timeout=` in DATABASE_URL says otherwise
PREPARE_AFTER = 3
OF_TEXT = {"true": True, "false": False, "none": None}  # in the query of DATABASE_URL
_MAIL_PORTS = {"smtp": 25, "smtp+tls": 587, "smtp+ssl": 465}
_PLACEHOLDERS = ("changeme", "change-me", "change_me", "your-secret", "example")


def refuse_guessable_key(key: str) -> None:
    """Whoever knows the key can sign in as anybody: no key from a tutorial or a template."""
    if key.startswith("django-insecure-"):
        problem = "is one that Django made for development"
    elif any(placeholder in key.lower() for placeholder in _PLACEHOLDERS):
        problem = "is a placeholder"
    elif len(key) < 50 or len(set(key)) < 10:
        problem = "is too short or too regular"
    else:
        return
    raise ImproperlyConfigured(
        f"SECRET_KEY {problem}: set it to what `openssl rand -hex 32` prints, and keep it"
    )


def database(url: str) -> dict[str, Any]:
    """Django's description of the Postgres server at `url`; anything but Postgres is refused."""
    scheme = urlsplit(url).scheme
    if scheme not in {"postgres", "postgresql"}:
        raise ImproperlyConfigured(
            f"DATABASE_URL begins with {scheme!r}: only postgresql:// is supported"
        )
    description: dict[str, Any] = environ.Env.db_url_config(url)
    given = description.get("OPTIONS", {})
    options = {
        # A server that is cut off answers nothing: without a limit, every thread of the site would
        # wait for it for minutes.
        "connect_timeout": DATABASE_TIMEOUT_S,
        # Statements are prepared at their third use: planning was a quarter of what a result costs
        "server_side_binding": True,
        "prepare_threshold": PREPARE_AFTER,
        **{name: OF_TEXT.get(str(value), value) for name, value in given.items()},
    }
    return {**description, "OPTIONS": options, "CONN_MAX_AGE": 60, "CONN_HEALTH_CHECKS": True}


def artifact_storage(address: str) -> dict[str, Any]:
    """Django's description of the artifact store at `address`; of a local folder when empty."""
    try:
        description = artifact_store.description(address)
    except ValueError as error:
        raise ImproperlyConfigured(f"ARTIFACT_STORE {error}") from None
    if address and not (find_spec("storages") and find_spec("boto3")):
        raise ImproperlyConfigured(
            "ARTIFACT_STORE is set: install django-storages[s3], or leave it empty: a folder"
        )
    return description


def mail_server(url: str) -> dict[str, Any]:
    """Django's settings of the mail server at `url`; of none when it is empty."""
    url = url or "smtp://localhost"
    parts = urlsplit(url)
    if parts.scheme not in _MAIL_PORTS or not parts.hostname:
        raise ImproperlyConfigured(
            "EMAIL_URL begins with smtp://, smtp+tls:// or smtp+ssl:// and names a host, as "
            "smtp+tls://user:password@smtp.example.org:587"
        )
    config: dict[str, Any] = environ.Env.email_url_config(url)
    return {**config, "EMAIL_PORT": config["EMAIL_PORT"] or _MAIL_PORTS[parts.scheme]}


def local_time_zone() -> str:
    """The machine's time zone; UTC where its configuration is missing or contradicts itself."""
    try:
        return ZoneInfo(get_localzone_name() or "UTC").key
    except (ZoneInfoNotFoundError, ValueError):
        return "UTC"
