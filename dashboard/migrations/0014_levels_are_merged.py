"""How many data of a level have an interval, so that new ones can be merged into it."""

from django.db import migrations, models

FILL = """
    UPDATE dashboard_buildlevel AS level SET intervals = found.count
    FROM (
        SELECT datum.series_id, datum.build_id, datum.benchmark_version, coalesce(environment.libraries, '') AS names,
               count(*)
        FROM dashboard_datum AS datum
        LEFT JOIN dashboard_environment AS environment ON environment.id = datum.environment_id
        WHERE datum.status = 'pass' AND datum.low > 0 AND datum.high > datum.low AND NOT EXISTS (
            SELECT FROM dashboard_invalidpoint AS invalid
            WHERE invalid.series_id = datum.series_id AND invalid.job_id = datum.job_id
        )
        GROUP BY 1, 2, 3, 4
    ) AS found
    WHERE (level.series_id, level.build_id, level.benchmark_version, level.libraries)
        = (found.series_id, found.build_id, found.benchmark_version, found.names)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("dashboard", "0013_cheaper_landings"),
    ]

    operations = [
        migrations.AddField(
            model_name="buildlevel",
            name="intervals",
            field=models.PositiveIntegerField(default=0),
            preserve_default=False,
        ),
        migrations.RunSQL(FILL, migrations.RunSQL.noop),
    ]
