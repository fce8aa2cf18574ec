"""A benchmark says what its model is, in the words of the file that builds it."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0034_alerts_of_either_direction")]

    operations = [
        migrations.AddField(
            model_name="benchmark",
            name="about",
            field=models.TextField(blank=True, db_default="", default=""),
        )
    ]
