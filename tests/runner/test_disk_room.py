"""A worker whose disk is full: it begins no job, and hands back what failed for it.

The disk is a small file system, which root alone may mount.
"""

import subprocess
import tempfile
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from runner import job
from runner.disk_room import describe_missing_room
from runner.outbox import Outbox
from runner.worker import Worker
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import WorkerProcess

MEGABYTE = 1000**2
NEEDED_GB = 0.004
DISK_MIB = 16


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 16 MiB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={DISK_MIB}m", "test", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("not allowed to mount a file system here")
    yield folder
    subprocess.run(["umount", "--lazy", str(folder)], check=True)


@pytest.fixture
def cramped(worker: Worker, disk: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker with its folder and temporary files on the small disk; a job needs 4 MB of it."""
    monkeypatch.setattr(tempfile, "tempdir", str(disk))
    worker.settings = replace(worker.settings, worker_dir=disk, free_gb=NEEDED_GB)
    worker.outbox = Outbox(disk)
    return worker


def fill(disk: Path) -> Path:
    """Somebody else's file that leaves 1 MB."""
    other = disk / "other"
    other.write_bytes(b"x" * (DISK_MIB * 2**20 - MEGABYTE))
    return other


def start(worker: Worker) -> threading.Thread:
    thread = threading.Thread(target=job.run, args=(worker, "job", 1))
    thread.start()
    return thread


def test_disk_with_room_is_not_mentioned(cramped: Worker) -> None:
    assert describe_missing_room(cramped.settings) == ""


def test_full_disk_is_named_with_what_is_free_and_what_is_needed(
    cramped: Worker, disk: Path
) -> None:
    fill(disk)
    problem = describe_missing_room(cramped.settings)
    assert problem.startswith(f"The disk under {disk} has ")
    assert problem.endswith("MB free, and 4 are needed (WORKER_FREE_GB): make room.")


def test_disk_of_environments_counts_before_there_is_one(worker: Worker, disk: Path) -> None:
    worker.settings = replace(worker.settings, environments_dir=disk / "new", free_gb=NEEDED_GB)
    assert describe_missing_room(worker.settings) == ""
    fill(disk)
    assert describe_missing_room(worker.settings).startswith(f"The disk under {disk} has ")


def test_environments_that_cannot_be_written_need_no_room(worker: Worker, disk: Path) -> None:
    fill(disk)
    subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
    worker.settings = replace(worker.settings, environments_dir=disk, free_gb=NEEDED_GB)
    assert describe_missing_room(worker.settings) == ""


def test_no_job_is_begun_on_a_full_disk_and_the_first_one_as_soon_as_there_is_room(
    cramped: Worker, site: SiteServer, disk: Path
) -> None:
    other = fill(disk)
    added = site.add("job")
    thread = start(cramped)
    wait_for(lambda: "POST jobs/job/waiting" in site.calls)
    assert added.state == "queued"
    other.unlink()
    thread.join(30)
    assert (added.state, added.attempt) == ("done", 1)


def test_job_that_is_cancelled_meanwhile_is_dropped(
    cramped: Worker, site: SiteServer, disk: Path
) -> None:
    fill(disk)
    site.add("job").state = "cancelled"
    assert job.run(cramped, "job", 1) == "dropped"


def test_worker_that_stops_meanwhile_drops_the_job(
    cramped: Worker, site: SiteServer, disk: Path
) -> None:
    fill(disk)
    added = site.add("job")
    thread = start(cramped)
    wait_for(lambda: "POST jobs/job/waiting" in site.calls)
    cramped.stopping.set()
    thread.join(10)
    assert added.state == "queued"


@pytest.mark.parametrize("config", ["fill_disk_of_others", "fail_to_compile_on_full_disk"])
def test_job_that_failed_on_a_disk_that_others_filled_is_handed_back_and_does_not_count(
    cramped: Worker, site: SiteServer, config: str, disk: Path
) -> None:
    added = site.add("job", config=config)
    assert job.run(cramped, "job", 1) == "dropped"
    assert added.bodies == []
    assert added.handed_back == [False]


def test_job_that_filled_the_disk_itself_is_a_named_failure(
    cramped: Worker, site: SiteServer
) -> None:
    added = site.add("job", config="fill_disk")
    assert job.run(cramped, "job", 1) == "crashed"
    assert "is full (0 MB free)" in added.outcome["message"]
    assert added.handed_back == []


def test_job_that_passed_on_a_full_disk_counts(
    cramped: Worker, site: SiteServer, disk: Path
) -> None:
    added = site.add("job", config="pass_on_full_disk")
    assert job.run(cramped, "job", 1) == "pass"
    assert added.state == "done"


def test_fleet_is_told_of_the_full_disk_and_of_its_end(running: WorkerProcess) -> None:
    running.kill()
    running.start(WORKER_FREE_GB="1e9")
    assert "are needed (WORKER_FREE_GB)" in running.site.hellos[-1]["full_disk"]
    wait_for(lambda: bool(running.site.full_disk))
    running.kill()
    running.start()
    wait_for(lambda: running.site.full_disk == "")
