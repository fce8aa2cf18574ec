"""Imported benchmarks keep their original name; series that were imported before go on.

A series belongs to one case of theirs unless it has two values of one build and time: of such a
mixture no case goes on. PyTorch's CSV files repeat a case.
"""

from django.db import migrations, models

import dashboard.models.fields

CLAIMABLE = """
    UPDATE dashboard_benchmark AS benchmark SET imported_configs = pure.configs
    FROM (
        SELECT benchmark_id, jsonb_object_agg(name, '') AS configs
        FROM (
            SELECT job.benchmark_id, config.name,
                   count(*) - count(DISTINCT (
                       job.planned_at, run.build_id, run.machine_id, run.track_id, job.status,
                       (SELECT array_agg(key ORDER BY key)
                        FROM jsonb_object_keys(result.document -> 'metrics') AS key)
                   )) AS doubled, bool_or(result.document #>> '{environment,settings,measured by}'
                                          = 'benchmarks/dynamo') AS repeats
            FROM dashboard_job AS job
            JOIN dashboard_run AS run ON run.id = job.run_id AND run.purpose = 'import'
            JOIN dashboard_config AS config ON config.id = job.config_id
            JOIN dashboard_result AS result ON result.job_id = job.uuid
            GROUP BY job.benchmark_id, config.name
        ) AS cases
        WHERE doubled = 0 OR repeats
        GROUP BY benchmark_id
    ) AS pure
    WHERE benchmark.id = pure.benchmark_id AND benchmark.imported
"""


class Migration(migrations.Migration):

    dependencies = [
        ("dashboard", "0043_imports_are_series"),
    ]

    operations = [
        migrations.AddField(
            model_name="benchmark",
            name="imported_configs",
            field=dashboard.models.fields.JSONField(blank=True, db_default={}, default=dict, editable=False),
        ),
        migrations.AddField(
            model_name="benchmark",
            name="original",
            field=models.TextField(blank=True, db_default="", default=""),
        ),
        migrations.RunSQL(CLAIMABLE, migrations.RunSQL.noop),
    ]
