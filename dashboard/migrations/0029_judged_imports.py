"""Imported results can be judged: what their alerts say of themselves, and which tracks it is for."""

from django.db import migrations, models

BEFORE = {"judged_from_imports": "inconclusive", "in_hindsight": "not_reproduced"}


def forget_imports(apps, schema_editor):
    """On the way back: the states that were known before, and come nearest."""
    for state, before in BEFORE.items():
        groups = apps.get_model("dashboard", "AlertGroup").objects
        groups.filter(evidence_state=state).update(evidence_state=before)
        apps.get_model("dashboard", "AlertEvent").objects.filter(state=state).update(state=before)


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0028_evidence_of_alerts'),
    ]

    operations = [
        migrations.RunPython(migrations.RunPython.noop, forget_imports),
        migrations.AddField(
            model_name='alertgroup',
            name='from_imports',
            field=models.BooleanField(db_default=False, default=False),
        ),
        migrations.AddField(
            model_name='track',
            name='judges_imports',
            field=models.BooleanField(db_default=False, default=False, help_text='Detection judges what is imported to this track, as a second opinion: nothing is measured again. Only for a track whose results are all imported.', verbose_name='judge imported results'),
        ),
        migrations.AlterField(
            model_name='alertevent',
            name='state',
            field=models.CharField(choices=[('suspected', 'Suspected'), ('confirming', 'Confirming'), ('confirmed', 'Confirmed'), ('acknowledged', 'Acknowledged'), ('fixed', 'Fixed'), ('wontfix', 'Wontfix'), ('invalid', 'Invalid'), ('not_reproduced', 'Not Reproduced'), ('inconclusive', 'Inconclusive'), ('recovered', 'Recovered'), ('missing_report', 'Missing Report'), ('judged_from_imports', 'Judged From Imports'), ('in_hindsight', 'In Hindsight')], max_length=20),
        ),
        migrations.AlterField(
            model_name='alertgroup',
            name='evidence_state',
            field=models.CharField(choices=[('suspected', 'Suspected'), ('confirming', 'Confirming'), ('confirmed', 'Confirmed'), ('not_reproduced', 'Not Reproduced'), ('inconclusive', 'Inconclusive'), ('recovered', 'Recovered'), ('missing_report', 'Missing Report'), ('judged_from_imports', 'Judged From Imports'), ('in_hindsight', 'In Hindsight')], db_index=True, default='suspected', max_length=20),
        ),
    ]
