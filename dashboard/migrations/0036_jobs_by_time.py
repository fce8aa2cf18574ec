"""The API's list of jobs is read in its order from an index."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0035_what_a_benchmark_is")]

    operations = [
        migrations.AlterField(model_name="job", name="planned_at", field=models.DateTimeField()),
        migrations.AddIndex(
            model_name="job",
            index=models.Index(fields=["planned_at", "uuid"], name="job_planned"),
        ),
    ]
