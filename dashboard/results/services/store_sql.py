"""The statements of services/landing.py, each over arrays: one round trip, however many rows."""

# Of each case all of these metrics: an array of cases is a fortieth of an array of series.
FIND_SERIES = """
SELECT s.id, s.benchmark_id, s.config_id, s.machine_id, s.track_id, s.metric
FROM dashboard_series s
JOIN unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[]) AS k (benchmark_id, config_id, machine_id, track_id)
    USING (benchmark_id, config_id, machine_id, track_id)
WHERE s.metric = ANY(%s)
ORDER BY s.id
FOR NO KEY UPDATE OF s
"""

ADD_SERIES = """
INSERT INTO dashboard_series (benchmark_id, config_id, machine_id, track_id, metric, count, last_status)
SELECT *, 0, ''
FROM unnest(%s::bigint[], %s::bigint[], %s::bigint[], %s::bigint[], %s::text[])
ON CONFLICT DO NOTHING
"""

FORGET_DATA = "DELETE FROM dashboard_datum WHERE job_id = ANY(%s) RETURNING series_id"

# The newest datum and the one before it, read from the end of the primary key's index.
ROLL_UP = """
UPDATE dashboard_series s
SET count = s.count + changed.by,
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
    WHERE series_id = changed.id ORDER BY planned_at DESC, job_id DESC LIMIT 1
) newest ON true
WHERE s.id = changed.id
"""
