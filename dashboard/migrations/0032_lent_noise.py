from django.db import migrations, models

# What the detector lends from 60 points on (dashboard/detection/usual_noise.py)
MARK = """
    UPDATE dashboard_detectorstate SET lends = true
    WHERE (state #>> '{now,law,known}')::float8 >= 60 AND (state #>> '{now,law,scale}')::float8 > 0
"""


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0031_defaults_in_the_database'),
    ]

    operations = [
        migrations.AddField(
            model_name='detectorstate',
            name='lends',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.RunSQL(MARK, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name='detectorstate',
            index=models.Index(condition=models.Q(('lends', True)), fields=['series'], name='detector_lends'),
        ),
    ]
