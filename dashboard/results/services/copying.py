"""COPY: several times faster than INSERT, for rows that come by the thousand."""

from collections.abc import Iterable, Sequence
from typing import Any

from django.db import connection


def copy_rows(table: str, columns: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Add rows to a table; values as psycopg adapts them, JSON as text.

    Raises what an INSERT through Django would.
    """
    names = ", ".join(connection.ops.quote_name(column) for column in columns)
    command = f"COPY {table} ({names}) FROM STDIN"
    with (
        connection.cursor() as cursor,
        connection.wrap_database_errors,
        cursor.copy(command) as copy,
    ):
        for row in rows:
            copy.write_row(row)
