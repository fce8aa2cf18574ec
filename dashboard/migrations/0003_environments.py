import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0002_builds_and_alerts'),
    ]

    operations = [
        migrations.AlterModelOptions(
            name='requirements',
            options={'verbose_name_plural': 'requirements'},
        ),
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
        migrations.AlterField(
            model_name='track',
            name='key',
            field=models.CharField(max_length=60, unique=True, validators=[django.core.validators.RegexValidator('^[a-z0-9][a-z0-9._-]*$', 'Use lower-case letters, digits and . _ - as in pinned-2.11.')]),
        ),
    ]
