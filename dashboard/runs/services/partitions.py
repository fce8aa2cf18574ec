"""The monthly partitions of the data table, made in advance: at planning, at ingest and daily."""

from collections.abc import Iterable
from datetime import UTC, date, datetime

from django.db import connection, transaction

LOCK = 0x0DA7A  # any constant: processes that create partitions at the same time take turns


def ensure_partitions(*, moments: Iterable[datetime]) -> list[str]:
    """Create the partitions for the months (UTC) of `moments`; the names of the new ones.

    Call it before the transaction that inserts: creating a partition locks the whole data table
    for a moment.
    """
    months = {f"dashboard_datum_{month:%Y_%m}": month for month in map(first_of_month, moments)}
    missing = sorted(set(months) - existing_partitions())
    if not missing:
        return []
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
        # Another process may have been faster
        created = sorted(set(missing) - existing_partitions())
        for name in created:
            start, end = months[name], next_month(months[name])
            cursor.execute(
                f"CREATE TABLE {name} PARTITION OF dashboard_datum"  # the name holds digits only
                f" FOR VALUES FROM ('{start} 00:00:00+00') TO ('{end} 00:00:00+00')"
            )
    return created


def ensure_coming_partitions(*, now: datetime) -> list[str]:
    """Create this month's partition and the next one's."""
    following = next_month(first_of_month(now))
    start_of_next = datetime(following.year, following.month, 1, tzinfo=UTC)
    return ensure_partitions(moments=[now, start_of_next])


def existing_partitions() -> set[str]:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT inhrelid::regclass::text FROM pg_inherits"
            " WHERE inhparent = 'dashboard_datum'::regclass"
        )
        return {name for (name,) in cursor.fetchall()}


def first_of_month(moment: datetime) -> date:
    return moment.astimezone(UTC).date().replace(day=1)


def next_month(first: date) -> date:
    return date(first.year + first.month // 12, first.month % 12 + 1, 1)
