"""The cases of what is measured in turn are bound to one worker each. Nothing that waits is changed."""

import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0020_own_revisions")]

    operations = [
        migrations.AddField(
            "job",
            "bound_to",
            models.ForeignKey(
                blank=True,
                db_index=False,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="dashboard.worker",
            ),
        ),
        migrations.AddIndex(
            "job",
            models.Index(
                condition=models.Q(("bound_to__isnull", False)),
                fields=["bound_to", "state"],
                name="job_bound",
            ),
        ),
    ]
