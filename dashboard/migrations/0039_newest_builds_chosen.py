"""Sites that have data get their newest builds: for themselves, as Postgres changes no table whose
rows have just changed.
"""

from django.db import migrations


def choose_newest_builds(apps, schema_editor):
    """Of every series there is, some hundred at a time."""
    from dashboard.results.services import newest

    series = list(apps.get_model("dashboard", "Series").objects.values_list("pk", flat=True))
    for start in range(0, len(series), 500):
        newest.roll_up(series=series[start : start + 500])


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0038_newest_build")]

    operations = [migrations.RunPython(choose_newest_builds, migrations.RunPython.noop)]
