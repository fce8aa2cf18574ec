"""Keeps DayLevel, the rollup of data by day, family and mode, at ingest.

The overview tells of thousands of cases since when and by how much they moved; from the data alone
it would read hundreds of thousands of rows.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection

from dashboard.language.metrics import SUMMARY
from dashboard.results.core.day_sql import FORGET, LOCK, LOOKED_BACK_DAYS, ROLL_UP
from dashboard.ui.charts import TREND_PURPOSES

# Any constant: of transactions that write the days of a machine one is at work at a time
_LOCK = 0x0DA7


def roll_up(*, series: Collection[int], since: date) -> None:
    """Bring every day from ``since`` on (UTC) up to date for the families, modes and configs of
    these series.

    Call it at the end of the transaction that changed the data: it makes others that changed the
    same machine's wait.
    """
    begin = datetime.combine(since - timedelta(days=LOOKED_BACK_DAYS), time(), UTC)
    given: dict[str, Any] = {
        "series": [*series],
        "since": since,
        "from": begin,
        "lock": _LOCK,
        "metrics": [*SUMMARY],
        "purposes": [*TREND_PURPOSES],
    }
    with connection.cursor() as cursor:
        for statement in (LOCK, FORGET, ROLL_UP):
            cursor.execute(statement, given)
