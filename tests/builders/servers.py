"""Embedded servers for one test."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import quote

from django.db import connection

from dashboard.local.embedded_postgres import EmbeddedPostgres
from tests.builders.migrated_postgres import copy_migrated_postgres


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that every account can reach: pytest closes its own to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def running_postgres() -> Iterator[str]:
    """DATABASE_URL of a migrated Postgres that lives as long as the block."""
    with open_folder() as folder:
        copy_migrated_postgres(folder / "postgres")
        server = EmbeddedPostgres(folder / "postgres")
        try:
            yield server.start()
        finally:
            server.stop()


def address(database: str = "") -> str:
    """DATABASE_URL of a database on the tests' server; without a name, of the tests' database."""
    connection.ensure_connection()
    info = connection.connection.info
    password = f":{quote(info.password, safe='')}" if info.password else ""
    return (
        f"postgresql://{info.user}{password}@/{database or info.dbname}"
        f"?host={quote(info.host)}&port={info.port}"
    )
