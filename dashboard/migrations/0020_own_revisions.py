"""Revisions of own models, by the hash of their files; and how long a job of a machine may take.

Data that are here already keep their versions: the first file that reports its hash goes on from there.
"""

import django.core.validators
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [("dashboard", "0019_hidden")]

    operations = [
        migrations.AddField(
            model_name='machine',
            name='timeout_s',
            field=models.PositiveIntegerField(db_default=900, default=900, help_text='A job that takes longer is stopped and ends as timeout. Raise it for a slow machine, large models or max-autotune.', validators=[django.core.validators.MinValueValidator(1), django.core.validators.MaxValueValidator(86400)], verbose_name='time limit of a job, s'),
        ),
        migrations.CreateModel(
            name='OwnRevision',
            fields=[
                ('id', models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name='ID')),
                ('number', models.PositiveIntegerField()),
                ('version', models.PositiveIntegerField()),
                ('file_hash', models.CharField(max_length=16)),
                ('first_at', models.DateTimeField()),
                ('benchmark', models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name='revisions', to='dashboard.benchmark')),
            ],
            options={
                'ordering': ['benchmark', 'number'],
                'constraints': [models.UniqueConstraint(fields=('benchmark', 'version', 'file_hash'), name='own_revision_of_file'), models.UniqueConstraint(fields=('benchmark', 'number'), name='own_revision_number')],
            },
        ),
    ]
