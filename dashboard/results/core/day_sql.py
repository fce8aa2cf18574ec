"""Statements in SQL that turn data into levels by day.

They write DayLevel's rows from the day `since` on, for the groups of some series.

A level is ln(value), of `passed` the value itself, so that a sum over cases is a geomean, or a
share. Every datum is compared with the one before it of the same case, whenever that was: who adds
these changes up over any days gets, for each case, its newest level minus the one before those
days. A case that fails or joins moves nothing.
"""

LOOKED_BACK_DAYS = 35  # a case that was not measured for longer starts again without a change

# One transaction at a time writes the days of a group (as in _TOUCHED). Groups share 256 locks, so
# that a large import does not fill the server's table of them. In the locks' order, so that two
# transactions never wait for each other.
LOCK = """
    SELECT pg_advisory_xact_lock(%(lock)s, groups.lock)
    FROM (
        SELECT DISTINCT (hashtextextended(
            concat_ws(
                ' ', series.machine_id, series.track_id, series.config_id,
                benchmark.family, benchmark.mode
            ), 0
        ) & 255)::int AS lock
        FROM dashboard_series AS series
        JOIN dashboard_benchmark AS benchmark ON benchmark.id = series.benchmark_id
        WHERE series.id = ANY(%(series)s)
        ORDER BY 1
    ) AS groups
"""

# The groups (rows of DayLevel but for day, build and metric) that these series belong to.
_TOUCHED = """
    WITH touched AS (
        SELECT DISTINCT series.machine_id, series.track_id, series.config_id,
               benchmark.family, benchmark.mode
        FROM dashboard_series AS series
        JOIN dashboard_benchmark AS benchmark ON benchmark.id = series.benchmark_id
        WHERE series.id = ANY(%(series)s)
    )"""

DELETE = f"""{_TOUCHED}
    DELETE FROM dashboard_daylevel AS old
    USING touched
    WHERE old.machine_id = touched.machine_id
          AND old.track_id = touched.track_id
          AND old.config_id = touched.config_id
          AND old.family = touched.family
          AND old.mode = touched.mode
          AND old.day >= %(since)s
"""  # noqa: S608 - made of constants

# members: every series of the groups, not only the touched ones.
# levels: their data, from some days before `since`, so that the first of them has one before it.
# linked: each level with its change (lag()) from the one before; NULL where there is none.
ROLL_UP = f"""{_TOUCHED},
    members AS (
        SELECT series.id, series.metric, touched.*
        FROM touched
        JOIN dashboard_benchmark AS benchmark
             ON benchmark.family = touched.family AND benchmark.mode = touched.mode
        JOIN dashboard_series AS series
             ON series.benchmark_id = benchmark.id
                AND series.config_id = touched.config_id
                AND series.machine_id = touched.machine_id
                AND series.track_id = touched.track_id
        WHERE series.metric = ANY(%(metrics)s)
    ),
    levels AS (
        SELECT members.*, datum.build_id, datum.benchmark_version, datum.planned_at, datum.job_id,
               (datum.planned_at AT TIME ZONE 'UTC')::date AS day,
               CASE WHEN members.metric = 'passed' THEN datum.value
                    ELSE ln(datum.value) END AS level
        FROM members
        JOIN dashboard_datum AS datum ON datum.series_id = members.id
        WHERE datum.planned_at >= %(from)s
              AND datum.purpose = ANY(%(purposes)s)
              AND (members.metric = 'passed' OR (datum.status = 'pass' AND datum.value > 0))
              AND NOT EXISTS (
                  SELECT FROM dashboard_invalidpoint AS invalid
                  WHERE invalid.series_id = members.id AND invalid.job_id = datum.job_id
              )
    ),
    linked AS (
        SELECT levels.*,
               level - lag(level) OVER (
                   PARTITION BY id, benchmark_version ORDER BY planned_at, job_id
               ) AS moved
        FROM levels
    )
    INSERT INTO dashboard_daylevel (
        machine_id, track_id, day, build_id, family, mode, config_id, metric, count, linked, moved
    )
    SELECT machine_id, track_id, day, build_id, family, mode, config_id, metric,
           count(*), count(moved), coalesce(sum(moved), 0)
    FROM linked
    WHERE day >= %(since)s
    GROUP BY machine_id, track_id, day, build_id, family, mode, config_id, metric
"""  # noqa: S608 - made of constants
