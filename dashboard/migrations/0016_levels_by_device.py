"""Which device of its machine measured what: results say it, and the levels are kept by it."""

import django.db.models.deletion
from django.db import migrations, models

TELL = """
    UPDATE dashboard_result SET device = left(coalesce(
        document -> 'environment' -> 'machine' ->> 'device_id', document -> 'environment' -> 'machine' ->> 'host', ''
    ), 200)
    WHERE environment_id IS NOT NULL
"""
# The levels of data that are here already, as services/levels.py writes them at the time of this migration.
FILL = """
    INSERT INTO dashboard_buildlevel (
        series_id, build_id, benchmark_version, libraries, device, machine_id, track_id, benchmark_id, config_id,
        metric, count, log_mean, log_m2, within, least, most, mean, job, intervals
    )
    SELECT series.id, datum.build_id, datum.benchmark_version, place.libraries, place.device,
           series.machine_id, series.track_id, series.benchmark_id, series.config_id, series.metric,
           count(*),
           CASE WHEN bool_and(datum.value > 0) THEN avg(ln(datum.value)) FILTER (WHERE datum.value > 0) END,
           CASE WHEN bool_and(datum.value > 0)
                THEN var_pop(ln(datum.value)) FILTER (WHERE datum.value > 0) * count(*) END,
           exp(avg(2 * ln(greatest(ln(datum.high / datum.low) / 3.919928, 1e-12)))
               FILTER (WHERE datum.low > 0 AND datum.high > datum.low)),
           min(datum.value), max(datum.value), avg(datum.value),
           (array_agg(datum.job_id ORDER BY datum.planned_at DESC))[1],
           count(*) FILTER (WHERE datum.low > 0 AND datum.high > datum.low)
    FROM dashboard_series AS series
    JOIN dashboard_datum AS datum ON datum.series_id = series.id
    LEFT JOIN dashboard_environment AS environment ON environment.id = datum.environment_id
    LEFT JOIN dashboard_result AS result ON result.job_id = datum.job_id
    CROSS JOIN LATERAL (
        SELECT coalesce(environment.libraries, '') AS libraries, coalesce(result.device, '') AS device
    ) AS place
    WHERE datum.status = 'pass' AND datum.value IS NOT NULL
          AND NOT EXISTS (
              SELECT FROM dashboard_invalidpoint AS invalid
              WHERE invalid.series_id = series.id AND invalid.job_id = datum.job_id
          )
    GROUP BY series.id, datum.build_id, datum.benchmark_version, place.libraries, place.device
"""
KEY = ("series_id", "build_id", "benchmark_version", "libraries", "device")


def level(field: str, related: str) -> models.ForeignKey:
    return models.ForeignKey(
        db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name=related, to=f"dashboard.{field}"
    )


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0015_taken_in_turn")]

    operations = [
        migrations.AddField("result", "device", models.CharField(blank=True, default="", max_length=200), False),
        migrations.RunSQL(TELL, migrations.RunSQL.noop),
        migrations.DeleteModel("BuildLevel"),  # a rollup, made anew: another key
        migrations.CreateModel(
            "BuildLevel",
            [
                ("pk", models.CompositePrimaryKey(*KEY, blank=True, editable=False, primary_key=True, serialize=False)),
                ("benchmark_version", models.PositiveIntegerField()),
                ("libraries", models.CharField(max_length=200)),
                ("device", models.CharField(max_length=200)),
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
            {"indexes": [models.Index(fields=["machine_id", "build", "metric"], name="level_of_build")]},
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
