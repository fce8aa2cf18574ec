"""Every migration, back to the first and forward again, with data in the database: what the first
knew is still there.

Each has to have a way back, so that an upgrade that went wrong can be undone without a backup.
"""

import os
import subprocess
import sys
from pathlib import Path

import psycopg

from dashboard.local.project import ROOT

FILES = sorted(path.stem for path in (ROOT / "dashboard" / "migrations").glob("0*.py"))


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
    empty_database: str, tmp_path: Path
) -> None:
    migrate(empty_database, tmp_path)
    with psycopg.connect(empty_database, autocommit=True) as server:
        server.execute("INSERT INTO auth_group (name) VALUES ('our own team')")
        server.execute(
            "INSERT INTO dashboard_machine (key, label, device_kind, default_size, created_at)"
            " VALUES ('h200', 'H200', 'cuda', 'standard', now())"
        )
    migrate(empty_database, tmp_path, "dashboard", FILES[0])
    migrate(empty_database, tmp_path)
    with psycopg.connect(empty_database) as server:
        assert server.execute(
            "SELECT label FROM dashboard_machine WHERE key = 'h200'"
        ).fetchall() == [("H200",)]
        assert server.execute(
            "SELECT count(*) FROM auth_group WHERE name = 'our own team'"
        ).fetchone() == (1,)
