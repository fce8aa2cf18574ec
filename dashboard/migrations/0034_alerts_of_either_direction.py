"""Of one point a series may have an alert of either direction: one of them from before its points
were judged again."""

from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0033_confirmations_in_turn")]

    operations = [
        migrations.RemoveConstraint(model_name="alert", name="alert_once_per_change"),
        migrations.AddConstraint(
            model_name="alert",
            constraint=models.UniqueConstraint(
                fields=["series", "planned_at", "kind", "direction"], name="alert_once_per_change"
            ),
        ),
    ]
