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
        benchmark_id, config_id, machine_id, track_id, metric, count, last_status
    )
    SELECT *, 0, ''
    FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
    ON CONFLICT DO NOTHING
"""

DELETE_DATA = "DELETE FROM dashboard_datum WHERE job_id = ANY(%s) RETURNING series_id"

# Writes the newest datum of each series, and the value before it, into its row. lead() sees all
# data of the series before LIMIT cuts them; both are read from the end of the primary key's index.
ROLL_UP = """
    UPDATE dashboard_series AS series
    SET count = series.count + changed.by,
        last_at = newest.planned_at,
        last_value = newest.value,
        last_low = newest.low,
        last_high = newest.high,
        last_status = coalesce(newest.status, ''),
        last_job_id = newest.job_id,
        previous_value = newest.before
    FROM unnest(%s::bigint[], %s::integer[]) AS changed (id, by)
    LEFT JOIN LATERAL (
        SELECT planned_at, value, low, high, status, job_id,
               lead(value) OVER (ORDER BY planned_at DESC, job_id DESC) AS before
        FROM dashboard_datum
        WHERE series_id = changed.id
        ORDER BY planned_at DESC, job_id DESC
        LIMIT 1
    ) AS newest ON true
    WHERE series.id = changed.id
"""
