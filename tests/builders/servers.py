"""Embedded servers of a test's own."""

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from dashboard.local.embedded_postgres import EmbeddedPostgres


@contextmanager
def open_folder() -> Iterator[Path]:
    """A temporary folder that every account can reach: pytest closes its own to others."""
    with tempfile.TemporaryDirectory() as name:
        Path(name).chmod(0o755)
        yield Path(name)


@contextmanager
def running_postgres() -> Iterator[str]:
    """DATABASE_URL of a Postgres that lives as long as the block."""
    with open_folder() as folder:
        server = EmbeddedPostgres(folder / "postgres")
        try:
            yield server.start()
        finally:
            server.stop()
