"""Who has the device that a worker waits for."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0036_jobs_by_time")]

    operations = [
        migrations.AddField(
            model_name="worker",
            name="device_holder",
            field=models.CharField(blank=True, db_default="", default="", max_length=300),
        ),
    ]
