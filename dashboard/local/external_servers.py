"""Check the servers that the user named in DATABASE_URL and BROKER_URL, before anything starts.

Runs in `.venv`: it imports the drivers.
"""

import kombu
import psycopg

from dashboard.local.embedded import ServerError

OLDEST_POSTGRES = 15
TIMEOUT_S = 10


def check_postgres(url: str) -> None:
    """Raises ServerError unless a Postgres of a supported version answers at `url`."""
    try:
        with psycopg.connect(url, connect_timeout=TIMEOUT_S) as connection:
            version = connection.info.server_version // 10_000
    except psycopg.Error as error:
        reason = str(error).partition("\n")[0]
        raise ServerError(
            f"the Postgres of DATABASE_URL does not answer: {reason}. Fix the address or start "
            "the server; without DATABASE_URL `make up` brings its own"
        ) from error
    if version < OLDEST_POSTGRES:
        raise ServerError(
            f"DATABASE_URL is a Postgres {version}: {OLDEST_POSTGRES} or later is needed"
        )


def check_broker(url: str) -> None:
    """Raises ServerError unless a broker answers at `url`."""
    try:
        with kombu.Connection(url, connect_timeout=TIMEOUT_S) as connection:
            connection.ensure_connection(max_retries=1, timeout=TIMEOUT_S)
    except Exception as error:  # each transport raises its driver's own errors
        raise ServerError(
            f"the broker of BROKER_URL does not answer: {error}. Fix the address or start the "
            "server; without BROKER_URL `make up` brings its own"
        ) from error
