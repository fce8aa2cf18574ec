"""How data become levels by day, as SQL: DayLevel's rows from the first of `since` on, for the
groups of some series.

A level is ln(value), of `passed` the value itself, so that a sum over cases is a geomean, or a
share. Every datum is held against the one before it of the same case, whenever that was: who adds
these up over any days gets, for each case, its newest level minus the one before those days. A case
that fails or joins moves nothing.
"""

LOOKED_BACK_DAYS = 35  # a case that was not measured for longer begins anew

LOCK = """
    SELECT pg_advisory_xact_lock(%(lock)s, place.machine_id::int)
    FROM (SELECT DISTINCT machine_id FROM dashboard_series WHERE id = ANY(%(series)s) ORDER BY 1) AS place
"""
_TOUCHED = """
    WITH touched AS (
        SELECT DISTINCT series.machine_id, series.track_id, series.config_id, benchmark.family, benchmark.mode
        FROM dashboard_series AS series JOIN dashboard_benchmark AS benchmark ON benchmark.id = series.benchmark_id
        WHERE series.id = ANY(%(series)s)
    )"""
FORGET = f"""{_TOUCHED}
    DELETE FROM dashboard_daylevel AS known USING touched
    WHERE known.machine_id = touched.machine_id AND known.track_id = touched.track_id AND known.day >= %(since)s
          AND known.config_id = touched.config_id AND known.family = touched.family AND known.mode = touched.mode
"""  # noqa: S608 - made of constants
ROLL_UP = f"""{_TOUCHED},
    mine AS (
        SELECT series.id, series.metric, touched.*
        FROM touched
        JOIN dashboard_benchmark AS benchmark ON benchmark.family = touched.family AND benchmark.mode = touched.mode
        JOIN dashboard_series AS series
             ON series.benchmark_id = benchmark.id AND series.config_id = touched.config_id
                AND series.machine_id = touched.machine_id AND series.track_id = touched.track_id
        WHERE series.metric = ANY(%(metrics)s)
    ),
    told AS (
        SELECT mine.*, datum.build_id, datum.benchmark_version, datum.planned_at, datum.job_id,
               (datum.planned_at AT TIME ZONE 'UTC')::date AS day,
               CASE WHEN mine.metric = 'passed' THEN datum.value ELSE ln(datum.value) END AS level
        FROM mine JOIN dashboard_datum AS datum ON datum.series_id = mine.id
        WHERE datum.planned_at >= %(from)s AND datum.purpose = ANY(%(purposes)s)
              AND (mine.metric = 'passed' OR (datum.status = 'pass' AND datum.value > 0))
              AND NOT EXISTS (
                  SELECT FROM dashboard_invalidpoint AS invalid
                  WHERE invalid.series_id = mine.id AND invalid.job_id = datum.job_id
              )
    ),
    linked AS (
        SELECT told.*, level - lag(level) OVER (PARTITION BY id, benchmark_version ORDER BY planned_at, job_id) AS moved
        FROM told
    )
    INSERT INTO dashboard_daylevel (
        machine_id, track_id, day, build_id, family, mode, config_id, metric, count, linked, moved
    )
    SELECT machine_id, track_id, day, build_id, family, mode, config_id, metric,
           count(*), count(moved), coalesce(sum(moved), 0)
    FROM linked WHERE day >= %(since)s
    GROUP BY machine_id, track_id, day, build_id, family, mode, config_id, metric
"""  # noqa: S608 - made of constants
