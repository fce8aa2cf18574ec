"""What a confirmation measured in turn is compared in turn: its runs say so, and the levels follow."""

from django.db import migrations

NAME = """
    UPDATE dashboard_run SET session = 'confirmation ' || confirmation_id
    FROM dashboard_confirmation AS confirmation
    WHERE confirmation.id = confirmation_id AND NOT confirmation.only_new AND session = ''
"""
# The levels that have data of confirmations, as services/levels.py writes them at this migration
TOUCHED = """
    CREATE TEMPORARY TABLE touched ON COMMIT DROP AS
    SELECT DISTINCT datum.series_id, datum.build_id
    FROM dashboard_run AS run
    JOIN dashboard_job AS job ON job.run_id = run.id
    JOIN dashboard_datum AS datum ON datum.job_id = job.uuid AND datum.planned_at = job.planned_at
    WHERE run.session LIKE 'confirmation %'
"""
EMPTY = """
    DELETE FROM dashboard_buildlevel AS level USING touched
    WHERE level.series_id = touched.series_id AND level.build_id = touched.build_id
"""
FILL = """
    INSERT INTO dashboard_buildlevel (
        series_id, build_id, benchmark_version, libraries, device, session, machine_id, track_id,
        benchmark_id, config_id, metric, count, log_mean, log_m2, within, least, most, mean, job,
        intervals
    )
    SELECT series.id, datum.build_id, datum.benchmark_version, place.libraries, place.device,
           CASE WHEN run.purpose = 'import' AND run.session = ''
                THEN to_char(datum.planned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
                WHEN run.request -> 'warm_ups' @> to_jsonb(job.position) THEN ''
                ELSE run.session END,
           series.machine_id, series.track_id, series.benchmark_id, series.config_id, series.metric,
           count(*),
           CASE WHEN bool_and(datum.value > 0)
                THEN avg(ln(datum.value)) FILTER (WHERE datum.value > 0) END,
           CASE WHEN bool_and(datum.value > 0)
                THEN var_pop(ln(datum.value)) FILTER (WHERE datum.value > 0) * count(*) END,
           exp(avg(2 * ln(greatest(ln(datum.high / datum.low) / 3.919928, 1e-12)))
               FILTER (WHERE datum.low > 0 AND datum.high > datum.low)),
           min(datum.value), max(datum.value), avg(datum.value),
           (array_agg(datum.job_id ORDER BY datum.planned_at DESC))[1],
           count(*) FILTER (WHERE datum.low > 0 AND datum.high > datum.low)
    FROM touched
    JOIN dashboard_series AS series ON series.id = touched.series_id
    JOIN dashboard_datum AS datum
         ON datum.series_id = series.id AND datum.build_id = touched.build_id
    JOIN dashboard_job AS job ON job.uuid = datum.job_id
    JOIN dashboard_run AS run ON run.id = job.run_id
    LEFT JOIN dashboard_environment AS environment ON environment.id = datum.environment_id
    LEFT JOIN dashboard_result AS result ON result.job_id = datum.job_id
    CROSS JOIN LATERAL (
        SELECT coalesce(environment.libraries, '') AS libraries,
               coalesce(result.device, '') AS device
    ) AS place
    WHERE datum.status = 'pass' AND datum.value IS NOT NULL
          AND NOT EXISTS (
              SELECT FROM dashboard_invalidpoint AS invalid
              WHERE invalid.series_id = series.id AND invalid.job_id = datum.job_id
          )
    GROUP BY series.id, datum.build_id, datum.benchmark_version, 4, 5, 6
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0032_lent_noise")]

    operations = [
        migrations.RunSQL([NAME, TOUCHED, EMPTY, FILL], migrations.RunSQL.noop),
    ]
