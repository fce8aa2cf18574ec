"""System checks: what would fail later and less readably. Run by `manage.py check --database
default`.
"""

from collections.abc import Sequence
from typing import Any

from django.apps import AppConfig
from django.core.checks import CheckMessage, Error, Tags, register
from django.db import connections

OLDEST_POSTGRES = 150000  # 15.0, as libpq counts


@register(Tags.database)
def postgres_is_new_enough(
    *, app_configs: Sequence[AppConfig] | None, databases: Sequence[str] | None = None, **_: Any
) -> list[CheckMessage]:
    """Postgres 15 is the oldest that the tests run on."""
    found = {
        alias: connections[alias].cursor().connection.info.server_version
        for alias in databases or ()
    }
    return [
        Error(
            f"The Postgres server of database {alias!r} has version {version // 10000}.",
            hint="Compilewatch needs 15 or later: upgrade it, or point DATABASE_URL at another "
            "server.",
            id="dashboard.E001",
        )
        for alias, version in found.items()
        if version < OLDEST_POSTGRES
    ]
