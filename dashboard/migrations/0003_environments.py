import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0002_builds_and_alerts'),
    ]

    operations = [
        migrations.AddField(
            model_name='job',
            name='requirements',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='jobs', to='dashboard.requirements'),
        ),
        migrations.AddField(
            model_name='schedule',
            name='repeats',
            field=models.PositiveIntegerField(default=0),
        ),
    ]
