"""Keeps BuildLevel, the rollup of data by series, build, device and session, at ingest.

A page that compares two builds over thousands of cases would otherwise read every datum of both,
job by job. A new datum is merged into what is there: a pinned build is measured for years, and to
read all of its data again for each result would cost more every day.
"""

from collections.abc import Collection, Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db import connection

from dashboard.results.core.level_sql import COUNTED, LEVEL, OF_PLACE, SESSION

_DELETE = """
    DELETE FROM dashboard_buildlevel
    WHERE series_id = ANY(%(series)s) AND build_id = ANY(%(builds)s)
"""
_OF_BUILDS = "series.id = ANY(%(series)s) AND datum.build_id = ANY(%(builds)s)"
_OF_JOBS = "datum.job_id = ANY(%(jobs)s) AND datum.planned_at BETWEEN %(first)s AND %(last)s"

# Merges the levels in `new` with the rows that exist.
# Count, mean and sum of squares of two samples make those of both: Chan, Golub and LeVeque, 1983.
#   n = n1 + n2; mean = (mean1 n1 + mean2 n2) / n; m2 = m2_1 + m2_2 + (mean1 - mean2)² n1 n2 / n
# `had` is the old row's count, 0 where there is none. `within` is a geometric mean: the mean of its
# logarithms, weighted by the number of data that have an interval.
_MERGE = """
    INSERT INTO dashboard_buildlevel (
        series_id, build_id, benchmark_version, libraries, device, session,
        machine_id, track_id, benchmark_id, config_id, metric,
        count, log_mean, log_m2, within, least, most, mean, job, intervals
    )
    SELECT new.series_id, new.build_id, new.benchmark_version, new.libraries, new.device,
           new.session, new.machine_id, new.track_id, new.benchmark_id, new.config_id, new.metric,
           new.count + had,
           CASE WHEN had = 0 THEN new.log_mean
                ELSE (new.log_mean * new.count + old.log_mean * had) / (new.count + had) END,
           CASE WHEN had = 0 THEN new.log_m2
                ELSE new.log_m2 + old.log_m2
                     + (new.log_mean - old.log_mean) ^ 2 * new.count * had / (new.count + had) END,
           exp((coalesce(ln(new.within) * new.intervals, 0)
                + coalesce(ln(old.within) * old.intervals, 0))
               / nullif(new.intervals + coalesce(old.intervals, 0), 0)),
           least(new.least, old.least), greatest(new.most, old.most),
           (new.mean * new.count + coalesce(old.mean * had, 0)) / (new.count + had),
           CASE WHEN last.planned_at > new.planned_at THEN old.job ELSE new.job END,
           new.intervals + coalesce(old.intervals, 0)
    FROM new
    LEFT JOIN dashboard_buildlevel AS old
         USING (series_id, build_id, benchmark_version, libraries, device, session)
    CROSS JOIN LATERAL (SELECT coalesce(old.count, 0)) AS existing (had)
    LEFT JOIN dashboard_job AS last ON last.uuid = old.job
    ON CONFLICT (series_id, build_id, benchmark_version, libraries, device, session) DO UPDATE SET
        count = excluded.count, log_mean = excluded.log_mean, log_m2 = excluded.log_m2,
        within = excluded.within, least = excluded.least, most = excluded.most,
        mean = excluded.mean, job = excluded.job, intervals = excluded.intervals
"""


def _add(which: str) -> str:
    """The statement that adds the data of this condition to the levels."""
    return f"""
    WITH new (
        series_id, build_id, benchmark_version, libraries, device, session,
        machine_id, track_id, benchmark_id, config_id, metric,
        count, log_mean, log_m2, within, least, most, mean, job, intervals, planned_at
    ) AS (
        SELECT series.id, datum.build_id, datum.benchmark_version, place.libraries, place.device,
               {SESSION},
               series.machine_id, series.track_id, series.benchmark_id, series.config_id,
               series.metric,
               {LEVEL},
               count(*) FILTER (WHERE datum.low > 0 AND datum.high > datum.low),
               max(datum.planned_at)
        FROM dashboard_series AS series
        JOIN dashboard_datum AS datum ON datum.series_id = series.id
        JOIN dashboard_job AS job ON job.uuid = datum.job_id
        JOIN dashboard_run AS run ON run.id = job.run_id
        {OF_PLACE}
        WHERE {which} AND {COUNTED}
        GROUP BY series.id, datum.build_id, datum.benchmark_version, 4, 5, 6
    )
    {_MERGE}"""  # noqa: S608 - made of constants


_ADD_JOBS = _add(_OF_JOBS)
_ADD_BUILDS = _add(_OF_BUILDS)


def add(*, jobs: Collection[tuple[UUID, datetime]]) -> None:
    """Merge into the levels what these jobs, each with when it was planned, have just brought.

    Call it once, in the transaction that wrote the data, with their series' rows locked.
    """
    moments = [planned_at for _, planned_at in jobs]
    parameters: dict[str, Any] = {
        "jobs": [job for job, _ in jobs],
        "first": min(moments),
        "last": max(moments),
    }
    with connection.cursor() as cursor:
        cursor.execute(_ADD_JOBS, parameters)


def roll_up(*, series: Iterable[int], builds: Iterable[int]) -> None:
    """Make the levels of these builds in these series again, from all their data.

    Call it in the transaction that changed or removed data, with the series' rows locked.
    """
    parameters = {"series": [*series], "builds": [*builds]}
    with connection.cursor() as cursor:
        cursor.execute(_DELETE, parameters)
        cursor.execute(_ADD_BUILDS, parameters)
