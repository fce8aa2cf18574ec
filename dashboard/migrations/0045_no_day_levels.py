"""The rollup by day leaves with the table of families that read it: home is a map of builds."""

from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [("dashboard", "0044_imported_names")]
    operations = [migrations.DeleteModel("DayLevel")]
