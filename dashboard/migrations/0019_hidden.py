"""Machines and tracks can be hidden; an imported run is as old as what was measured in it."""

from django.db import migrations, models

HELP = "Left out of choices, lists and defaults. Its results stay, and addresses that name it still show them."
MEASURED = """
    UPDATE dashboard_run AS run SET created_at = measured.first, finished_at = measured.last
    FROM (
        SELECT job.run_id, min(job.planned_at) AS first, max(job.finished_at) AS last
        FROM dashboard_job AS job JOIN dashboard_run AS imported ON imported.id = job.run_id
        WHERE imported.purpose = 'import' AND job.finished_at IS NOT NULL
        GROUP BY job.run_id
    ) AS measured
    WHERE run.id = measured.run_id
"""


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0018_evidence_and_workflow")]

    operations = [
        migrations.AddField(
            "machine", "hidden", models.BooleanField(default=False, db_default=False, help_text=HELP)
        ),
        migrations.AddField(
            "track", "hidden", models.BooleanField(default=False, db_default=False, help_text=HELP)
        ),
        migrations.RunSQL(MEASURED, migrations.RunSQL.noop),
    ]
