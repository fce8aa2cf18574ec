"""Every migration, back to the first and forward again, with data in the database: what the first
knew is still there.

Each has to have a way back, so that an upgrade that went wrong can be undone without a backup.
"""

import os
import subprocess
import sys
from pathlib import Path

import psycopg
import pytest

from dashboard.local.project import ROOT

FILES = sorted(path.stem for path in (ROOT / "dashboard" / "migrations").glob("0*.py"))


@pytest.fixture
def database(migrated_database: str, tmp_path: Path) -> str:
    migrate(migrated_database, tmp_path)  # nothing is left to do on the tests' own server
    return migrated_database


def migrate(database: str, folder: Path, *target: str) -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "migrate", "--skip-checks", "--verbosity", "0", *target],
        cwd=ROOT,
        env={**os.environ, "DATABASE_URL": database, "VAR_DIR": str(folder)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]


def test_every_migration_goes_back_and_forward_with_data_in_it(
    database: str, tmp_path: Path
) -> None:
    with psycopg.connect(database, autocommit=True) as server:
        server.execute("INSERT INTO auth_group (name) VALUES ('our own team')")
        server.execute(
            "INSERT INTO dashboard_machine (key, label, device_kind, default_size, created_at)"
            " VALUES ('h200', 'H200', 'cuda', 'standard', now())"
        )
    migrate(database, tmp_path, "dashboard", FILES[0])
    migrate(database, tmp_path)
    with psycopg.connect(database) as server:
        assert server.execute(
            "SELECT label FROM dashboard_machine WHERE key = 'h200'"
        ).fetchall() == [("H200",)]
        assert server.execute(
            "SELECT count(*) FROM auth_group WHERE name = 'our own team'"
        ).fetchone() == (1,)


def test_state_of_alerts_becomes_evidence_and_workflow_and_goes_back(
    database: str, tmp_path: Path
) -> None:
    old = {  # kind and state -> the events before it, and both fields
        ("step", "suspected"): ([], "suspected", "new"),
        ("step", "recovered"): (["confirmed", "acknowledged"], "recovered", "acknowledged"),
        ("step", "fixed"): (["suspected", "confirmed", "acknowledged"], "confirmed", "fixed"),
        ("drift", "acknowledged"): (["confirmed"], "confirmed", "acknowledged"),
        ("step", "acknowledged"): (["suspected"], "inconclusive", "acknowledged"),
        ("silence", "confirmed"): (["confirmed"], "missing_report", "new"),
    }
    migrate(database, tmp_path, "dashboard", "0016_levels_by_device")
    with psycopg.connect(database, autocommit=True) as server:
        for (kind, state), (events, *_) in old.items():
            (group,) = server.execute(
                "INSERT INTO dashboard_alertgroup (title, kind, state, direction, severity, cause,"
                " evidence, created_at) VALUES ('', %s, %s, 'regression', 'low', 'unknown', '[]',"
                " now()) RETURNING id",
                [kind, state],
            ).fetchone() or [0]
            for event in events:
                server.execute(
                    "INSERT INTO dashboard_alertevent (group_id, at, action, state, text)"
                    " VALUES (%s, clock_timestamp(), 'state', %s, '')",
                    [group, event],
                )
    migrate(database, tmp_path)
    with psycopg.connect(database) as server:
        fields = "SELECT evidence_state, workflow_state FROM dashboard_alertgroup ORDER BY id"
        new = [(evidence, workflow) for _, evidence, workflow in old.values()]
        assert server.execute(fields).fetchall() == new
    migrate(database, tmp_path, "dashboard", "0016_levels_by_device")
    with psycopg.connect(database) as server:
        states = server.execute("SELECT state FROM dashboard_alertgroup ORDER BY id").fetchall()
    assert [state for (state,) in states] == [state for _, state in old]


def test_messages_of_candidates_and_judged_imports_have_a_way_back(
    database: str, tmp_path: Path
) -> None:
    with psycopg.connect(database, autocommit=True) as server:
        server.execute("SET session_replication_role = replica")  # without the comparisons
        server.execute(
            "INSERT INTO dashboard_channel (id, name, url, secret, enabled, problem, created_at)"
            " VALUES (1, 'team', 'x', '', true, '', now())"
        )
        for comparison in (1, 2):
            server.execute(
                "INSERT INTO dashboard_delivery (channel_id, comparison_id, digest, state,"
                " attempts, next_at, answer, created_at) VALUES (1, %s, '', 'sent', 1, now(), '',"
                " now())",
                [comparison],
            )
        for state in ("judged_from_imports", "in_hindsight"):
            server.execute(
                "INSERT INTO dashboard_alertgroup (title, kind, evidence_state, workflow_state,"
                " direction, severity, cause, evidence, created_at) VALUES ('', 'step', %s, 'new',"
                " 'regression', 'low', 'unknown', '[]', now())",
                [state],
            )
    migrate(database, tmp_path, "dashboard", "0025_searches_of_alerts")
    with psycopg.connect(database) as server:
        states = server.execute("SELECT evidence_state FROM dashboard_alertgroup ORDER BY id")
        assert states.fetchall() == [("inconclusive",), ("not_reproduced",)]


def test_alerts_of_judged_imports_become_ordinary_ones(empty_database: str, tmp_path: Path) -> None:
    stored = {  # evidence and workflow before -> after
        ("in_hindsight", "new"): ("suspected", "wontfix"),
        ("in_hindsight", "invalid"): ("suspected", "invalid"),
        ("judged_from_imports", "new"): ("suspected", "new"),
        ("judged_from_imports", "acknowledged"): ("suspected", "acknowledged"),
        ("recovered", "new"): ("recovered", "new"),
        ("confirmed", "fixed"): ("confirmed", "fixed"),
    }
    migrate(empty_database, tmp_path, "dashboard", "0042_one_digest")
    with psycopg.connect(empty_database, autocommit=True) as server:
        for evidence, workflow in stored:
            (group,) = server.execute(
                "INSERT INTO dashboard_alertgroup (title, kind, evidence_state, workflow_state,"
                " direction, severity, cause, evidence, from_imports, created_at) VALUES ('',"
                " 'step', %s, %s, 'regression', 'low', 'unknown',"
                """ '[{"fact": "judged from imports"}, {"fact": "suite version"}]', true, now())"""
                " RETURNING id",
                [evidence, workflow],
            ).fetchone() or [0]
            server.execute(
                "INSERT INTO dashboard_alertevent (group_id, at, action, state, text)"
                " VALUES (%s, now(), 'opened', %s, '')",
                [group, evidence],
            )
        server.execute(
            "INSERT INTO dashboard_rule (name, enabled, families, model_names, metric_keys,"
            ' minimum_effect_percent, minimum_severity, states, improvements, "when", time_zone)'
            """ VALUES ('team', true, '[]', '[]', '[]', 0, 'low', '["judged_from_imports"]',"""
            " false, 'at_once', 'UTC')"
        )
    migrate(empty_database, tmp_path)
    with psycopg.connect(empty_database) as server:
        fields = "SELECT evidence_state, workflow_state FROM dashboard_alertgroup ORDER BY id"
        assert server.execute(fields).fetchall() == [*stored.values()]
        facts = server.execute("SELECT DISTINCT evidence FROM dashboard_alertgroup").fetchall()
        assert facts == [([{"fact": "suite version"}],)]
        states = server.execute(
            "SELECT DISTINCT state FROM dashboard_alertevent WHERE action = 'opened' ORDER BY 1"
        ).fetchall()
        assert states == [("confirmed",), ("recovered",), ("suspected",), ("wontfix",)]
        rules = server.execute("SELECT states FROM dashboard_rule").fetchall()
        assert rules == [(["suspected"],)]


def test_imports_of_before_are_due_and_count_as_judged_until_then(
    empty_database: str, tmp_path: Path
) -> None:
    migrate(empty_database, tmp_path, "dashboard", "0042_one_digest")
    with psycopg.connect(empty_database, autocommit=True) as server:
        server.execute("SET session_replication_role = replica")  # without the job and so on
        server.execute(
            "CREATE TABLE datum_2026 PARTITION OF dashboard_datum"
            " FOR VALUES FROM ('2026-01-01') TO ('2027-01-01')"
        )
        (track,) = server.execute(
            "INSERT INTO dashboard_track (key, label, kind, hidden, judges_imports, created_at)"
            " VALUES ('import', '', 'local', false, false, now()) RETURNING id"
        ).fetchone() or [0]
        server.execute(
            "INSERT INTO dashboard_run (label, purpose, state, request, libraries, session,"
            " created_at, build_id, track_id, machine_id) VALUES ('', 'import', 'completed', '{}',"
            " '{}', '', now(), 1, %s, 1)",
            [track],
        )
        for metric in ("latency_ms", "throughput"):
            server.execute(
                "WITH series AS (INSERT INTO dashboard_series (benchmark_id, config_id, machine_id,"
                " track_id, metric, count, newest_version, newest_status, newest_processes)"
                " VALUES (1, 1, 1, %s, %s, 1, 0, '', 0) RETURNING id)"
                " INSERT INTO dashboard_datum (series_id, planned_at, job_id, build_id, purpose,"
                " status, benchmark_version, count, value) SELECT id, '2026-11-20',"
                " gen_random_uuid(), 1, 'import', 'pass', 1, 1, 1.0 FROM series",
                [track, metric],
            )
    migrate(empty_database, tmp_path)
    with psycopg.connect(empty_database) as server:
        states = server.execute(
            "SELECT metric, version, due, planned_at::date::text FROM dashboard_detectorstate"
            " JOIN dashboard_series AS series ON series.id = series_id"
        ).fetchall()
        kinds = server.execute("SELECT kind FROM dashboard_track").fetchall()
    assert states == [("latency_ms", "", True, "2026-11-20")]
    assert kinds == [("versions",)]


def test_hashes_of_candidates_without_their_files_are_forgotten(
    database: str, tmp_path: Path
) -> None:
    migrate(database, tmp_path, "dashboard", "0030_full_disks_of_workers")
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(
            "INSERT INTO dashboard_torchbuild (label, version, variant, git_sha, cuda, triton,"
            " channel, python, index_url, adopted, wheel_hashes, created_at) VALUES ('2.16.0rc1',"
            " '2.16.0rc1', '{}', '', '', '', 'test', '', '', false, '[1]', now())"
        )
    migrate(database, tmp_path)
    with psycopg.connect(database) as server:
        hashes = server.execute("SELECT wheel_hashes FROM dashboard_torchbuild").fetchall()
    assert hashes == [({},)]


def test_site_of_before_can_write_while_its_database_is_a_version_ahead(
    database: str, tmp_path: Path
) -> None:
    """As it does until it is started again: it names no column that it does not know."""
    new = {
        ("dashboard_alertevent", "people"),
        ("dashboard_rule", "subjects"),
        ("dashboard_torchbuild", "wheel_hashes"),
        ("dashboard_track", "families"),
        ("dashboard_worker", "full_disk"),
    }
    with psycopg.connect(database) as server:
        needed = server.execute(
            "SELECT table_name, column_name FROM information_schema.columns"
            " WHERE column_default IS NULL AND is_nullable = 'NO'"
        ).fetchall()
    assert not new & set(needed)


def test_runs_of_a_factorial_stay_with_their_levels_as_label(database: str, tmp_path: Path) -> None:
    migrate(database, tmp_path, "dashboard", "0039_newest_builds_chosen")
    with psycopg.connect(database, autocommit=True) as server:
        server.execute("SET session_replication_role = replica")  # without the machine and so on
        server.execute(
            "INSERT INTO dashboard_factorial (id, uuid, label, machine_id, benchmark_id, config_id,"
            " repeats, factors, arms, excluded, created_at) VALUES (1, gen_random_uuid(), 'CUDA?',"
            """ 1, 1, 1, 3, '[{"name": "torch", "levels": ["2.11.0", "2.13.0"]},"""
            """ {"name": "cuda", "levels": ["cu128", "cu130"]}]', '[{"cell": [0, 0]},"""
            """ {"cell": [1, 1]}]', '[]', now())"""
        )
        for arm in (0, 1):
            server.execute(
                "INSERT INTO dashboard_run (label, purpose, state, request, libraries, session,"
                " created_at, build_id, track_id, machine_id, factorial_id, arm) VALUES ('',"
                " 'manual', 'completed', '{}', '{}', '', now(), 1, 1, 1, 1, %s)",
                [arm],
            )
    migrate(database, tmp_path)
    with psycopg.connect(database) as server:
        labels = server.execute("SELECT label FROM dashboard_run ORDER BY id").fetchall()
    assert labels == [("CUDA?: torch 2.11.0, cuda cu128",), ("CUDA?: torch 2.13.0, cuda cu130",)]


def test_due_dates_and_reminders_are_notes_and_their_rules_send_the_digest(
    database: str, tmp_path: Path
) -> None:
    migrate(database, tmp_path, "dashboard", "0041_saved_views_are_links")
    with psycopg.connect(database, autocommit=True) as server:
        server.execute(
            "INSERT INTO dashboard_alertgroup (id, title, kind, evidence_state, workflow_state,"
            " direction, severity, cause, evidence, created_at, due_at) VALUES (1, '', 'step',"
            " 'confirmed', 'new', 'regression', 'low', 'unknown', '[]', now(),"
            " '2026-11-27 09:00Z')"
        )
        server.execute(
            "INSERT INTO dashboard_alertevent (group_id, at, action, state, text)"
            " VALUES (1, now(), 'late', 'confirmed', 'by 27 Nov 2026')"
        )
        server.execute(
            "INSERT INTO dashboard_rule (name, enabled, subjects, families, model_names,"
            " metric_keys, minimum_effect_percent, minimum_severity, states, improvements,"
            """ "when", time_zone) VALUES ('late', true, '["reminders"]', '[]', '[]', '[]', 0,"""
            " 'low', '[]', false, 'at_once', 'UTC')"
        )
    migrate(database, tmp_path)
    with psycopg.connect(database) as server:
        notes = server.execute("SELECT action, text FROM dashboard_alertevent ORDER BY id")
        rules = server.execute('SELECT subjects, "when", weekday FROM dashboard_rule').fetchall()
    assert notes.fetchall() == [
        ("note", "It was late: due by 27 Nov 2026"),
        ("note", "It was due by 27 Nov 2026, 09:00 UTC; due dates were removed."),
    ]
    assert rules == [([], "weekly", 0)]
