"""Keeps BuildLevel, the rollup of data by series and build, at ingest.

A page that compares two builds over thousands of cases would otherwise read every datum of both, job by job.
"""

from collections.abc import Iterable

from django.db import connection

from dashboard.level_sql import COUNTED, LEVEL, OF_LIBRARIES

_FORGET = "DELETE FROM dashboard_buildlevel WHERE series_id = ANY(%(series)s) AND build_id = ANY(%(builds)s)"
_ROLL_UP = f"""
    INSERT INTO dashboard_buildlevel (
        series_id, build_id, benchmark_version, libraries, machine_id, track_id, benchmark_id, config_id, metric,
        count, log_mean, log_m2, within, least, most, mean, job
    )
    SELECT series.id, datum.build_id, datum.benchmark_version, library.names,
           series.machine_id, series.track_id, series.benchmark_id, series.config_id, series.metric,
           {LEVEL}
    FROM dashboard_series AS series
    JOIN dashboard_datum AS datum ON datum.series_id = series.id
    {OF_LIBRARIES}
    WHERE series.id = ANY(%(series)s) AND datum.build_id = ANY(%(builds)s)
          AND {COUNTED}
    GROUP BY series.id, datum.build_id, datum.benchmark_version, library.names
"""  # noqa: S608 - made of constants


def roll_up(*, series: Iterable[int], builds: Iterable[int]) -> None:
    """Bring the levels of these builds in these series up to date. Call it in the transaction that changed the data,
    with the series' rows locked."""
    given = {"series": [*series], "builds": [*builds]}
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, given)
        cursor.execute(_ROLL_UP, given)
