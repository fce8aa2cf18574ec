"""A worker that is given some minutes, as a batch system gives them, and leaves by itself."""

import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

from dashboard.local.embedded_broker import EmbeddedBroker
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import WorkerProcess

MINUTES_OF_15_S = ("--minutes", "0.25")


@pytest.fixture
def lent(site: SiteServer, tmp_path: Path) -> Iterator[WorkerProcess]:
    """A whole worker that does not run yet, alone on its broker."""
    home = Path(tempfile.mkdtemp(prefix="cw-broker-"))
    broker = EmbeddedBroker(home)
    process = WorkerProcess(tmp_path, site, broker.start())
    yield process
    process.clean_up()
    broker.stop()
    shutil.rmtree(home)


def exit_code(worker: WorkerProcess) -> int | None:
    wait_for(lambda: not worker.is_running())
    return worker.process.returncode


def test_job_that_does_not_fit_is_left_to_the_next_worker(lent: WorkerProcess) -> None:
    job = lent.site.add("long", expected_s=3600)
    lent.start("--minutes", "5")
    lent.send("long")
    assert exit_code(lent) == 0
    assert (job.state, job.attempt) == ("queued", 1)
    lent.start()
    wait_for(lambda: job.state == "done")


def test_job_that_fits_is_measured_before_the_worker_leaves(lent: WorkerProcess) -> None:
    job = lent.site.add("short", config="nap", expected_s=2)
    lent.start(*MINUTES_OF_15_S)
    lent.send("short")
    assert exit_code(lent) == 0
    assert job.state == "done"


def test_job_that_still_runs_when_the_time_is_over_is_handed_back(lent: WorkerProcess) -> None:
    job = lent.site.add("endless", config="sleep")
    lent.start(*MINUTES_OF_15_S)
    lent.send("endless")
    assert exit_code(lent) == 0
    assert (job.state, job.attempt) == ("queued", 2)
    assert job.bodies == []
    assert lent.suite_processes() == []


def test_paused_worker_leaves_when_its_time_is_over(lent: WorkerProcess) -> None:
    lent.site.paused = True
    lent.start("--minutes", "0.05")
    assert exit_code(lent) == 0


def test_no_minutes_are_refused(lent: WorkerProcess) -> None:
    lent.start("--minutes", "0")
    assert exit_code(lent) == 2
    assert "--minutes: invalid" in lent.log.read_text()
