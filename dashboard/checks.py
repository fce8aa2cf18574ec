"""System checks, run by `manage.py check --database default`: what would fail later anyway."""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

OLDEST_POSTGRES = 150000  # 15.0, as libpq counts
_UPGRADE = "Compilewatch needs 15 or later: upgrade it, or point DATABASE_URL at another server."


@register(Tags.database)
def postgres_is_new_enough(
    *, app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Postgres 15 is the oldest that the tests run on."""
    errors: list[CheckMessage] = []
    for alias in databases or ():
        version = connections[alias].cursor().connection.info.server_version
        if version < OLDEST_POSTGRES:
            text = f"The Postgres server of database {alias!r} has version {version // 10000}."
            errors.append(Error(text, hint=_UPGRADE, id="dashboard.E001"))
    return errors
