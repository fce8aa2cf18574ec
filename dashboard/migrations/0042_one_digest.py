"""Due dates, reminders and triage reports were removed: one digest has what is new and still open.

Due dates and reminders become notes in the history; rules of what was removed send the digest.
"""

from datetime import time

from django.db import migrations
from django.utils import timezone

REMOVED = ("reminders", "report")
ANSWER = "The triage report was removed: the digest has what is new and still open."


def due_dates_become_notes(apps, schema_editor):
    events = apps.get_model("dashboard", "AlertEvent").objects
    for event in events.filter(action__in=("due", "late")):
        beginning = "It was due" if event.action == "due" else "It was late: due"
        event.action, event.text = "note", f"{beginning} {event.text}"
        event.save(update_fields=["action", "text"])
    groups = apps.get_model("dashboard", "AlertGroup").objects
    for group in groups.filter(due_at__isnull=False):
        state = group.workflow_state if group.workflow_state != "new" else group.evidence_state
        text = f"It was due by {group.due_at:%d %b %Y, %H:%M} UTC; due dates were removed."
        events.create(
            group=group, action="note", state=state, text=text, considered_at=timezone.now()
        )


def rules_send_the_digest(apps, schema_editor):
    for rule in apps.get_model("dashboard", "Rule").objects.all():
        left = [subject for subject in rule.subjects if subject not in REMOVED]
        if left == rule.subjects:
            continue
        if not left and rule.when == "at_once":
            rule.when, rule.weekday, rule.at = "weekly", 0, time(8)
        rule.subjects = left
        rule.save(update_fields=["subjects", "when", "weekday", "at"])
    deliveries = apps.get_model("dashboard", "Delivery").objects
    unsent = deliveries.filter(digest__startswith="report ", state__in=("waiting", "sending"))
    unsent.update(state="failed", answer=ANSWER)


def forget_the_task(apps, schema_editor):
    tasks = apps.get_model("django_celery_beat", "PeriodicTask").objects
    tasks.filter(task="dashboard.tasks.remind").delete()


class Migration(migrations.Migration):
    dependencies = [
        ("django_celery_beat", "0019_alter_periodictasks_options"),
        ("dashboard", "0041_saved_views_are_links"),
    ]

    operations = [
        migrations.RunPython(due_dates_become_notes, migrations.RunPython.noop),
        migrations.RunPython(rules_send_the_digest, migrations.RunPython.noop),
        migrations.RunPython(forget_the_task, migrations.RunPython.noop),
        migrations.RemoveField(model_name="alertgroup", name="due_since"),
        migrations.RemoveField(model_name="alertgroup", name="due_at"),
        migrations.RemoveField(model_name="alertgroup", name="reminded"),
    ]
