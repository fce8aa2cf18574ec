"""The newest value of a series is its newest build's, and no longer the last that was measured."""

import django.db.models.deletion
from django.db import migrations, models


def link(to, on_delete, **options):
    return models.ForeignKey(null=True, on_delete=on_delete, related_name="+", to=to, **options)


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0037_device_holder")]

    operations = [
        migrations.RenameField("series", "last_value", "newest_value"),
        migrations.RenameField("series", "last_low", "newest_low"),
        migrations.RenameField("series", "last_high", "newest_high"),
        migrations.RenameField("series", "last_status", "newest_status"),
        migrations.AddField("series", "newest_at", models.DateTimeField(null=True)),
        migrations.AddField(
            "series", "newest_version", models.PositiveIntegerField(default=0)
        ),
        migrations.AddField(
            "series", "newest_processes", models.PositiveIntegerField(default=0)
        ),
        migrations.AddField(
            "series", "newest_job", link("dashboard.job", django.db.models.deletion.SET_NULL)
        ),
        migrations.AddField(
            "series",
            "newest_build",
            link("dashboard.torchbuild", django.db.models.deletion.PROTECT, db_index=False),
        ),
        migrations.AddField(
            "series",
            "previous_build",
            link("dashboard.torchbuild", django.db.models.deletion.PROTECT, db_index=False),
        ),
    ]
