from django.db import migrations, models


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0029_judged_imports'),
    ]

    operations = [
        migrations.AddField(
            model_name='worker',
            name='full_disk',
            field=models.CharField(blank=True, db_default='', default='', max_length=300),
        ),
    ]
