"""Keeps DayLevel, the rollup of data by day, family and mode, at ingest.

The overview shows since when and by how much thousands of cases have moved; from the data alone it
would read hundreds of thousands of rows.
"""

from collections.abc import Collection
from datetime import UTC, date, datetime, time, timedelta
from typing import Any

from django.db import connection

from dashboard.language.metrics import SUMMARY
from dashboard.results.core.day_sql import DELETE, LOCK, LOOKED_BACK_DAYS, ROLL_UP
from dashboard.ui.charts import TREND_PURPOSES

# Any constant: the first key of the locks that let one transaction write a group's days at a time
_LOCK = 0x0DA7


def roll_up(*, series: Collection[int], since: date) -> None:
    """Bring every day from ``since`` (UTC) up to date for these series' families, modes, configs.

    Call it once, at the end of the transaction that changed the data: it makes others wait that
    changed the same family's, mode's and config's.
    """
    begin = datetime.combine(since - timedelta(days=LOOKED_BACK_DAYS), time(), UTC)
    parameters: dict[str, Any] = {
        "series": [*series],
        "since": since,
        "from": begin,
        "lock": _LOCK,
        "metrics": [*SUMMARY],
        "purposes": [*TREND_PURPOSES],
    }
    with connection.cursor() as cursor:
        for statement in (LOCK, DELETE, ROLL_UP):
            cursor.execute(statement, parameters)
