import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0027_factorials'),
    ]

    operations = [
        migrations.AddField(
            model_name='run',
            name='evidence_of',
            field=models.ForeignKey(blank=True, null=True, on_delete=django.db.models.deletion.SET_NULL, related_name='evidence_runs', to='dashboard.alert'),
        ),
    ]
