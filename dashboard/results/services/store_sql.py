"""The statements of services/store.py, each over arrays: one round trip, however many rows."""

# Finds and locks the series of these cases that have one of these metrics. Cases and metrics come
# apart because an array of cases is a fortieth of an array of series. In the order of the ids, so
# that two transactions that lock the same series never wait for each other.
FIND_SERIES = """
    SELECT series.id, series.benchmark_id, series.config_id, series.machine_id, series.track_id,
           series.metric
    FROM dashboard_series AS series
    JOIN unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[])
         AS cases (benchmark_id, config_id, machine_id, track_id)
         USING (benchmark_id, config_id, machine_id, track_id)
    WHERE series.metric = ANY(%s)
    ORDER BY series.id
    FOR NO KEY UPDATE OF series
"""

ADD_SERIES = """
    INSERT INTO dashboard_series (
        benchmark_id, config_id, machine_id, track_id, metric,
        count, newest_version, newest_status, newest_processes
    )
    SELECT *, 0, 0, '', 0
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
    ON CONFLICT DO NOTHING
"""

DELETE_DATA = "DELETE FROM dashboard_datum WHERE job_id = ANY(%s) RETURNING series_id"

# Writes the last datum of each series into its row, read from the end of the primary key's index
ROLL_UP = """
    UPDATE dashboard_series AS series
    SET count = series.count + changed.by, last_at = last.planned_at, last_job_id = last.job_id
    FROM unnest(%s::bigint[], %s::integer[]) AS changed (id, by)
    LEFT JOIN LATERAL (
        SELECT planned_at, job_id FROM dashboard_datum
        WHERE series_id = changed.id
        ORDER BY planned_at DESC, job_id DESC
        LIMIT 1
    ) AS last ON true
    WHERE series.id = changed.id
"""
