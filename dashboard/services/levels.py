"""Keeps BuildLevel, the rollup of data by series and build, at ingest.

A page that compares two builds over thousands of cases would otherwise read every datum of both, job by job.
"""

from collections.abc import Iterable

from django.db import connection

_FORGET = "DELETE FROM dashboard_buildlevel WHERE series_id = ANY(%(series)s) AND build_id = ANY(%(builds)s)"
# 3.919928 is the width of a 95 % interval in standard errors. Of the libraries those that make a benchmark's model:
# triton and others belong to the build. What did not pass, and what a person has called invalid, is left out.
_ROLL_UP = """
    INSERT INTO dashboard_buildlevel (
        series_id, build_id, benchmark_version, libraries, machine_id, track_id, benchmark_id, config_id, metric,
        count, log_mean, log_m2, within, least, most, mean, job
    )
    SELECT series.id, datum.build_id, datum.benchmark_version, library.names,
           series.machine_id, series.track_id, series.benchmark_id, series.config_id, series.metric,
           count(*),
           CASE WHEN bool_and(datum.value > 0) THEN avg(ln(datum.value)) FILTER (WHERE datum.value > 0) END,
           CASE WHEN bool_and(datum.value > 0)
                THEN var_pop(ln(datum.value)) FILTER (WHERE datum.value > 0) * count(*) END,
           avg((ln(datum.high / datum.low) / 3.919928) ^ 2) FILTER (WHERE datum.low > 0 AND datum.high > datum.low),
           min(datum.value), max(datum.value), avg(datum.value),
           (array_agg(datum.job_id ORDER BY datum.planned_at DESC))[1]
    FROM dashboard_series AS series
    JOIN dashboard_datum AS datum ON datum.series_id = series.id
    LEFT JOIN dashboard_environment AS environment ON environment.id = datum.environment_id
    CROSS JOIN LATERAL (
        SELECT concat_ws(', ', 'diffusers ' || (environment.document -> 'libraries' ->> 'diffusers'),
                               'transformers ' || (environment.document -> 'libraries' ->> 'transformers')) AS names
    ) AS library
    WHERE series.id = ANY(%(series)s) AND datum.build_id = ANY(%(builds)s)
          AND datum.status = 'pass' AND datum.value IS NOT NULL
          AND NOT EXISTS (
              SELECT FROM dashboard_invalidpoint AS invalid
              WHERE invalid.series_id = series.id AND invalid.job_id = datum.job_id
          )
    GROUP BY series.id, datum.build_id, datum.benchmark_version, library.names
"""


def roll_up(*, series: Iterable[int], builds: Iterable[int]) -> None:
    """Bring the levels of these builds in these series up to date. Call it in the transaction that changed the data,
    with the series' rows locked."""
    given = {"series": [*series], "builds": [*builds]}
    with connection.cursor() as cursor:
        cursor.execute(_FORGET, given)
        cursor.execute(_ROLL_UP, given)
