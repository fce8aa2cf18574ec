"""What was measured in turn: runs say it, and the levels are kept by it."""

import django.db.models.deletion
from django.db import migrations, models

# What comparisons and searches measured before: their runs were made together
NAME = """
    UPDATE dashboard_run
    SET session = CASE
        WHEN comparison_id IS NOT NULL THEN 'comparison ' || comparison_id
        ELSE 'bisection ' || bisection_id || to_char(created_at, ' YYYY-MM-DD HH24')
    END
    WHERE comparison_id IS NOT NULL OR bisection_id IS NOT NULL
"""
# The levels of data that are here already, as services/levels.py writes them at this migration
FILL = """
    INSERT INTO dashboard_buildlevel (
        series_id, build_id, benchmark_version, libraries, device, session, machine_id, track_id,
        benchmark_id, config_id, metric, count, log_mean, log_m2, within, least, most, mean, job,
        intervals
    )
    SELECT series.id, datum.build_id, datum.benchmark_version, place.libraries, place.device,
           CASE WHEN run.purpose = 'import'
                THEN to_char(datum.planned_at AT TIME ZONE 'UTC', 'YYYY-MM-DD')
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
    FROM dashboard_series AS series
    JOIN dashboard_datum AS datum ON datum.series_id = series.id
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
KEY = ("series_id", "build_id", "benchmark_version", "libraries", "device", "session")


def level(to: str, related: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_index=False,
        on_delete=django.db.models.deletion.CASCADE,
        related_name=related,
        to=f"dashboard.{to}",
    )


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0016_levels_by_device")]

    operations = [
        migrations.AddField(
            "run",
            "session",
            models.CharField(blank=True, default="", editable=False, max_length=40),
        ),
        migrations.RunSQL(NAME, migrations.RunSQL.noop),
        # Those that were measured before stay as they are
        migrations.AddField(
            "comparison", "is_settled", models.BooleanField(default=True, editable=False)
        ),
        migrations.AlterField(
            "comparison", "is_settled", models.BooleanField(default=False, editable=False)
        ),
        # A rollup, made again: another key
        migrations.DeleteModel("BuildLevel"),
        migrations.CreateModel(
            "BuildLevel",
            [
                (
                    "pk",
                    models.CompositePrimaryKey(
                        *KEY, blank=True, editable=False, primary_key=True, serialize=False
                    ),
                ),
                ("benchmark_version", models.PositiveIntegerField()),
                ("libraries", models.CharField(max_length=200)),
                ("device", models.CharField(max_length=200)),
                ("session", models.CharField(max_length=40)),
                ("machine_id", models.BigIntegerField()),
                ("track_id", models.BigIntegerField()),
                ("benchmark_id", models.BigIntegerField()),
                ("config_id", models.BigIntegerField()),
                ("metric", models.CharField(max_length=60)),
                ("count", models.PositiveIntegerField()),
                ("log_mean", models.FloatField(null=True)),
                ("log_m2", models.FloatField(null=True)),
                ("within", models.FloatField(null=True)),
                ("intervals", models.PositiveIntegerField()),
                ("least", models.FloatField()),
                ("most", models.FloatField()),
                ("mean", models.FloatField()),
                ("job", models.UUIDField()),
                ("build", level("torchbuild", "+")),
                ("series", level("series", "levels")),
            ],
            {
                "indexes": [
                    models.Index(fields=["machine_id", "build", "metric"], name="level_of_build")
                ]
            },
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
