from django.db import migrations, models
from django.db.models import Case, Exists, F, OuterRef, Q, Subquery, Value, When

EVIDENCE = ("suspected", "confirming", "confirmed", "not_reproduced", "inconclusive", "recovered")
IN_WORK = ("new", "acknowledged")
OVER = ("not_reproduced", "recovered")
CLOSED = ("fixed", "wontfix", "invalid")
WORKFLOW = ("acknowledged", *CLOSED)


def split_state(apps, schema_editor):
    """What a state did not say is taken from the group's history, and is not guessed at."""
    groups = apps.get_model("dashboard", "AlertGroup").objects
    events = apps.get_model("dashboard", "AlertEvent").objects
    confirmations = apps.get_model("dashboard", "Confirmation").objects
    groups.filter(state__in=WORKFLOW).update(workflow_state=F("state"))
    groups.filter(state__in=EVIDENCE).update(evidence_state=F("state"))

    moves = events.filter(group=OuterRef("pk"), action__in=("opened", "state"))
    was_taken = Exists(moves.filter(state="acknowledged"))
    groups.filter(was_taken, state__in=OVER).update(workflow_state="acknowledged")
    last = moves.filter(state__in=EVIDENCE).order_by("-at", "-pk").values("state")[:1]
    answered = groups.filter(state__in=WORKFLOW)
    # Groups without such an event keep the field's default, "suspected"
    answered.annotate(last=Subquery(last)).filter(last__isnull=False).update(
        evidence_state=Subquery(last)
    )
    # Acknowledged while it was suspected, it was not measured again, and is not from now on
    running = Exists(confirmations.filter(group=OuterRef("pk"), state="running"))
    unproven = groups.filter(state="acknowledged", evidence_state__in=("suspected", "confirming"))
    unproven.filter(~running).update(evidence_state="inconclusive")

    silence = groups.filter(kind="silence")
    silence.exclude(evidence_state="recovered").update(evidence_state="missing_report")
    silence.update(direction="neutral")
    events.filter(group__kind="silence", state="confirmed").update(state="missing_report")
    for rule in apps.get_model("dashboard", "Rule").objects.all():
        if "confirmed" in rule.states:  # which meant missing reports, too
            rule.states = [*rule.states, "missing_report"]
            rule.save(update_fields=["states"])


def join_state(apps, schema_editor):
    groups = apps.get_model("dashboard", "AlertGroup").objects
    events = apps.get_model("dashboard", "AlertEvent").objects
    is_answered = Q(workflow_state__in=CLOSED)
    is_taken = Q(workflow_state="acknowledged") & ~Q(evidence_state__in=OVER)
    groups.update(
        state=Case(
            When(is_answered | is_taken, then=F("workflow_state")),
            When(evidence_state="missing_report", then=Value("confirmed")),
            default=F("evidence_state"),
        )
    )
    events.filter(state="missing_report").update(state="confirmed")
    for rule in apps.get_model("dashboard", "Rule").objects.all():
        if "missing_report" in rule.states:
            rule.states = [state for state in rule.states if state != "missing_report"]
            rule.save(update_fields=["states"])


EVIDENCE_CHOICES = [
    *((state, state.replace("_", " ").title()) for state in (*EVIDENCE, "missing_report"))
]
WORKFLOW_CHOICES = [*((state, state.title()) for state in ("new", *WORKFLOW))]


class Migration(migrations.Migration):
    """The state of an alert group becomes two: how sure it is, and what people make of it."""

    dependencies = [("dashboard", "0017_sessions")]

    operations = [
        migrations.AddField(
            "alertgroup",
            "evidence_state",
            models.CharField(
                choices=EVIDENCE_CHOICES, db_index=True, default="suspected", max_length=20
            ),
        ),
        migrations.AddField(
            "alertgroup",
            "workflow_state",
            models.CharField(choices=WORKFLOW_CHOICES, db_index=True, default="new", max_length=20),
        ),
        migrations.RunPython(split_state, join_state),
        migrations.RemoveField("alertgroup", "state"),
        migrations.AlterField(
            "alertevent",
            "state",
            models.CharField(
                choices=[
                    ("suspected", "Suspected"),
                    ("confirming", "Confirming"),
                    ("confirmed", "Confirmed"),
                    ("acknowledged", "Acknowledged"),
                    ("fixed", "Fixed"),
                    ("wontfix", "Wontfix"),
                    ("invalid", "Invalid"),
                    ("not_reproduced", "Not Reproduced"),
                    ("inconclusive", "Inconclusive"),
                    ("recovered", "Recovered"),
                    ("missing_report", "Missing Report"),
                ],
                max_length=20,
            ),
        ),
    ]
