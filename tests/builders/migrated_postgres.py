"""A Postgres with every migration applied, made once for a checkout and copied by all who need one.

Migrations are most of what a process of tests takes to start; a copy of the data takes a moment.
"""

import fcntl
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import psycopg

from dashboard.local.embedded_postgres import EmbeddedPostgres
from dashboard.local.project import ROOT

KEPT = ROOT / "var" / "tests"
# What says how the data look besides the migrations
SOURCES = (
    "requirements.txt",
    "dashboard/local/embedded_postgres.py",
    "dashboard/apps.py",
    "dashboard/accounts/services/roles.py",
    "dashboard/runs/services/schedules.py",
    "tests/builders/migrated_postgres.py",
)


def copy_migrated_postgres(home: Path) -> None:
    """Make the data of EmbeddedPostgres(home); others who ask at the same time wait."""
    KEPT.mkdir(parents=True, exist_ok=True)
    with (KEPT / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        data = KEPT / f"postgres-{_digest()}"
        if not data.exists():
            for outdated in KEPT.glob("postgres-*"):
                shutil.rmtree(outdated)
            _make(data)
        home.mkdir(parents=True, exist_ok=True)
        _copy(data, home / "data")


def _digest() -> str:
    """Hash of all that the data depend on."""
    migrations = sorted((ROOT / "dashboard" / "migrations").glob("*.py"))
    digest = hashlib.sha256()
    for path in (*migrations, *(ROOT / source for source in SOURCES)):
        digest.update(path.name.encode() + path.read_bytes())
    return digest.hexdigest()[:16]


def _make(data: Path) -> None:
    with tempfile.TemporaryDirectory(prefix="compilewatch-migrated-") as name:
        folder = Path(name)
        folder.chmod(0o711)  # under root, Postgres runs as another account, which has to get in
        server = EmbeddedPostgres(folder / "postgres")
        try:
            url = server.start()
            _set_for_tests(url)
            subprocess.run(
                [sys.executable, "manage.py", "migrate", "--skip-checks", "--verbosity", "0"],
                cwd=ROOT,
                env={**os.environ, "DATABASE_URL": url, "DJANGO_SETTINGS_MODULE": "tests.settings"},
                check=True,
            )
        finally:
            server.stop()
        unfinished = data.with_name("unfinished")
        shutil.rmtree(unfinished, ignore_errors=True)
        _copy(server.data, unfinished)
        unfinished.rename(data)


def _set_for_tests(url: str) -> None:
    """Data of tests end with them: no crash of a machine has to leave them whole. What is committed
    still outlives a killed server.

    No autovacuum: of an open transaction's tables it would tell the planner that they are empty,
    and a join of them by loops may take minutes.
    """
    with psycopg.connect(url, autocommit=True) as connection:
        for name in ("fsync", "full_page_writes", "autovacuum"):
            connection.execute(f"ALTER SYSTEM SET {name} = off")


def _copy(source: Path, target: Path) -> None:
    """With the owner, whom Python's own copy would change."""
    subprocess.run(["cp", "-a", str(source), str(target)], check=True)
