from typing import Any

from django.db import migrations, models


def give_waiting_jobs_turns(apps: Any, schema_editor: Any) -> None:
    """Every run that waits begins at turn 0, so that they are taken in turn from now on."""
    waiting = apps.get_model("dashboard", "Job").objects.filter(state__in=["planned", "queued"])
    waiting.update(turn=models.F("position"))


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0014_levels_are_merged")]

    operations = [
        migrations.AddField(model_name="job", name="turn", field=models.PositiveIntegerField(db_default=0, default=0)),
        migrations.RunPython(give_waiting_jobs_turns, migrations.RunPython.noop),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("dispatched_at", None), ("state", "queued")),
                fields=["turn", "planned_at"],
                name="job_due",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(
                condition=models.Q(("dispatched_at__isnull", False), ("state", "queued")),
                fields=["run"],
                name="job_out",
            ),
        ),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["finished_at"], name="job_finished"),
        ),
    ]
