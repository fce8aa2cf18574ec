"""Imported results are judged like any other: their alerts become ordinary ones, none is lost.

What is judged for the first time by this notifies nobody: detection takes what lies before a state
of another version for judged.
"""

from django.db import migrations, models

JUDGED = ["latency_ms", "device_ms", "cold_start_s", "warm_start_s", "restored_start_s", "startup_cold_s",
          "startup_warm_s", "peak_memory_gb", "graph_breaks", "compiled_ops_percent", "recompiles",
          "sweep_recompile_s", "overhead_us", "compile_calls", "drift", "drift_gradients", "passed"]
ENQUEUE = """
    INSERT INTO dashboard_detectorstate AS stored (series_id, version, state, due, planned_at, updated_at)
    SELECT datum.series_id, '', '{}', true, max(datum.planned_at), now()
    FROM dashboard_datum AS datum
    JOIN dashboard_series AS series ON series.id = datum.series_id
    JOIN dashboard_track AS track ON track.id = series.track_id
    WHERE datum.purpose = 'import' AND NOT track.judges_imports AND series.metric = ANY(%s)
    GROUP BY datum.series_id
    ON CONFLICT (series_id) DO UPDATE
    SET due = true, version = '', planned_at = greatest(stored.planned_at, excluded.planned_at)
"""
# Each of their builds is a point, as on a track of builds side by side
ONLY_IMPORTED = """
    UPDATE dashboard_track AS track SET kind = 'versions'
    WHERE kind = 'local'
      AND EXISTS (SELECT FROM dashboard_run WHERE track_id = track.id)
      AND NOT EXISTS (SELECT FROM dashboard_run WHERE track_id = track.id AND purpose <> 'import')
      AND NOT EXISTS (SELECT FROM dashboard_schedule WHERE track_id = track.id)
"""
OLD_NEWS = "It was too old to be news when it was judged: closed from the start."
MAP = [
    """INSERT INTO dashboard_alertevent (group_id, at, action, state, text, considered_at)
       SELECT id, now(), 'note', 'wontfix', %s, now() FROM dashboard_alertgroup
       WHERE evidence_state = 'in_hindsight' AND workflow_state IN ('new', 'acknowledged')""",
    """UPDATE dashboard_alertgroup
       SET workflow_state = 'wontfix', closed_at = coalesce(closed_at, now())
       WHERE evidence_state = 'in_hindsight' AND workflow_state IN ('new', 'acknowledged')""",
    """UPDATE dashboard_alertgroup SET evidence_state = 'suspected'
       WHERE evidence_state IN ('in_hindsight', 'judged_from_imports')""",
    "UPDATE dashboard_alertevent SET state = 'wontfix' WHERE state = 'in_hindsight'",
    "UPDATE dashboard_alertevent SET state = 'suspected' WHERE state = 'judged_from_imports'",
    "SET CONSTRAINTS ALL IMMEDIATE",
]
NOW = {"judged_from_imports": "suspected"}


def judge_like_any_other(apps, schema_editor):
    with schema_editor.connection.cursor() as cursor:
        cursor.execute(ENQUEUE, [JUDGED])
        cursor.execute(ONLY_IMPORTED)
        for statement in MAP:
            cursor.execute(statement, [OLD_NEWS] if "%s" in statement else None)
    for group in apps.get_model("dashboard", "AlertGroup").objects.filter(from_imports=True):
        group.evidence = [fact for fact in group.evidence if fact["fact"] != "judged from imports"]
        group.save(update_fields=["evidence"])
    for rule in apps.get_model("dashboard", "Rule").objects.filter(states__contains="judged_from_imports"):
        rule.states = list(dict.fromkeys(NOW.get(state, state) for state in rule.states))
        rule.save(update_fields=["states"])


class Migration(migrations.Migration):

    dependencies = [
        ('dashboard', '0042_one_digest'),
    ]

    operations = [
        migrations.RunPython(judge_like_any_other, migrations.RunPython.noop),
        migrations.RemoveField(model_name='alertgroup', name='from_imports'),
        migrations.RemoveField(model_name='track', name='judges_imports'),
        migrations.AlterField(
            model_name='alertevent',
            name='state',
            field=models.CharField(choices=[('suspected', 'Suspected'), ('confirming', 'Confirming'), ('confirmed', 'Confirmed'), ('acknowledged', 'Acknowledged'), ('fixed', 'Fixed'), ('wontfix', 'Wontfix'), ('invalid', 'Invalid'), ('not_reproduced', 'Not Reproduced'), ('inconclusive', 'Inconclusive'), ('recovered', 'Recovered'), ('missing_report', 'Missing Report')], max_length=20),
        ),
        migrations.AlterField(
            model_name='alertgroup',
            name='evidence_state',
            field=models.CharField(choices=[('suspected', 'Suspected'), ('confirming', 'Confirming'), ('confirmed', 'Confirmed'), ('not_reproduced', 'Not Reproduced'), ('inconclusive', 'Inconclusive'), ('recovered', 'Recovered'), ('missing_report', 'Missing Report')], db_index=True, default='suspected', max_length=20),
        ),
    ]
