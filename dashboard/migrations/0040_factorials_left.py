"""Factorials were removed. Their runs stay, as manual ones, and say in their labels what they measured."""

from django.db import migrations


def label_runs(apps, schema_editor):
    """Name each arm's levels: "torch × numpy: gpt2 inductor: torch 2.13.0, numpy 2.4.6"."""
    of_factorials = apps.get_model("dashboard", "Run").objects.filter(factorial__isnull=False)
    for run in of_factorials.select_related("factorial"):
        factorial = run.factorial
        levels = []
        for factor, level in zip(factorial.factors, factorial.arms[run.arm]["cell"]):
            levels.append(f"{factor['name']} {factor['levels'][level]}")
        arm = ": " + ", ".join(levels)
        names = " × ".join(factor["name"] for factor in factorial.factors)
        title = factorial.label or f"{names}: {factorial.benchmark.name} {factorial.config.name}"
        run.label = (title[: max(0, 200 - len(arm))] + arm)[:200]
        run.save(update_fields=["label"])


def forget_permissions(apps, schema_editor):
    """Every migration makes those of the models that there are again."""
    types = apps.get_model("contenttypes", "ContentType").objects
    types.filter(app_label="dashboard", model="factorial").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("contenttypes", "0002_remove_content_type_name"),
        ("auth", "0012_alter_user_first_name_max_length"),
        ("dashboard", "0039_newest_builds_chosen"),
    ]

    operations = [
        migrations.RunPython(label_runs, migrations.RunPython.noop),
        migrations.RunPython(forget_permissions, migrations.RunPython.noop),
        migrations.RemoveField(model_name="run", name="arm"),
        migrations.RemoveField(model_name="run", name="factorial"),
        migrations.DeleteModel(name="Factorial"),
    ]
