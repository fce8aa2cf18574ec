"""kill -9 of any one process loses nothing and duplicates nothing.

Whole workers, a real broker, real kills.
"""

import os
import signal
from collections.abc import Callable

import pytest

from dashboard.local.embedded_broker import EmbeddedBroker
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import WorkerProcess


def test_worker_killed_in_a_job_runs_it_again_once(running: WorkerProcess) -> None:
    job = running.site.add("job", config="deaf_children")
    running.send("job")
    running.wait_for_sampling("job")
    running.kill()
    job.spec["config"] = "eager"
    running.start()
    assert running.suite_processes() == []
    running.send("job", attempt=2)
    wait_for(lambda: job.state == "done")
    assert [body["attempt"] for body in job.bodies] == [2]


def test_suite_dies_with_its_killed_worker(running: WorkerProcess) -> None:
    running.site.add("job", config="sleep")
    running.send("job")
    running.wait_for_sampling("job")
    running.kill()
    wait_for(lambda: running.suite_processes() == [], seconds=10)


def test_killed_job_process_is_replaced_and_its_job_cleaned_up(running: WorkerProcess) -> None:
    job = running.site.add("job", config="deaf_children")
    running.send("job")
    running.wait_for_sampling("job")
    running.job_process().kill()
    # The new process's hello voided the claim: no waiting for the lease
    wait_for(lambda: job.attempt == 2)
    assert running.suite_processes() == []
    job.spec["config"] = "eager"
    running.send("job", attempt=2)
    wait_for(lambda: job.state == "done")
    assert len(job.bodies) == 1


def test_site_killed_during_a_job_gets_its_result_once(running: WorkerProcess) -> None:
    job = running.site.add("job", config="nap")
    running.send("job")
    wait_for(lambda: job.state == "running")
    running.site.stop()
    running.wait_for_log("job ended")
    running.site.start()
    wait_for(lambda: job.state == "done")
    assert len(job.bodies) == 1


def test_waiting_result_is_delivered_before_hello_voids_its_claim(
    running: WorkerProcess,
) -> None:
    job = running.site.add("job")
    running.site.refuse["result"] = (503, "the database restarts")
    running.send("job")
    wait_for(lambda: any("result" in call for call in running.site.calls))
    running.kill()
    running.site.refuse.clear()
    running.start()
    assert job.state == "done"
    assert job.attempt == 1


def test_messages_survive_a_killed_broker(
    site: SiteServer, tmp_path_factory: pytest.TempPathFactory
) -> None:
    broker = EmbeddedBroker(tmp_path_factory.mktemp("broker"))
    worker = WorkerProcess(tmp_path_factory.mktemp("home"), site, broker.start())
    try:
        worker.start()
        first, second = site.add("first", config="nap"), site.add("second")
        worker.send("first")
        worker.send("second")
        wait_for(lambda: first.state == "running")
        assert broker._process
        broker._process.kill()
        broker.start()
        wait_for(lambda: first.state == "done" and second.state == "done")
        assert len(first.bodies) == 1
        assert len(second.bodies) == 1
    finally:
        worker.clean_up()
        broker.stop()


@pytest.mark.parametrize(
    ("config", "send_signal"),
    [("sleep", os.kill), ("deaf_children", os.killpg)],
    ids=["only the worker", "its whole process group"],
)
def test_sigterm_ends_job_and_worker_cleanly(
    running: WorkerProcess, config: str, send_signal: Callable[[int, int], None]
) -> None:
    job = running.site.add("job", config=config)
    running.send("job")
    running.wait_for_sampling("job")
    send_signal(running.process.pid, signal.SIGTERM)
    assert running.process.wait(30) == 0
    assert running.suite_processes() == []
    assert job.bodies == []  # it is measured again after the next hello
