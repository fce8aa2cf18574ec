"""The whole worker: what it reports, which jobs it takes and which it does not."""

import json
import time
from pathlib import Path

from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import WorkerProcess


def test_hello_reports_device_facts_catalog_and_builds(running: WorkerProcess) -> None:
    hello = running.site.hellos[0]
    assert hello["device"] == "cpu"
    assert hello["facts"]["cores"] >= 1
    assert hello["facts"]["suite_version"] == "0.1.0"
    assert hello["catalog"]["benchmarks"][0]["name"].startswith("mlp")
    assert hello["builds"][0]["label"] == "2.13.0+cpu"
    assert hello["builds"][0]["adopted"] is True


def test_jobs_run_one_at_a_time(running: WorkerProcess) -> None:
    first = running.site.add("first", config="nap")
    second = running.site.add("second", config="nap")
    running.send("first")
    running.send("second")
    states = ("queued", "queued")
    while states != ("done", "done"):
        time.sleep(0.01)
        states = (first.state, second.state)
        assert states != ("running", "running")


def test_own_queue_and_that_of_the_machine_are_served_in_turn(running: WorkerProcess) -> None:
    first = running.site.add("first", config="nap")
    running.send("first")
    wait_for(lambda: first.state == "running")
    for number in range(2):
        for name, queue in (("machine", "machine.cpu"), ("own", "machine.cpu.local")):
            running.site.add(f"{name}-{number}")
            running.send(f"{name}-{number}", queue=queue)
    wait_for(lambda: all(job.state == "done" for job in running.site.jobs.values()))
    claims = [call.split("/")[1] for call in running.site.calls if call.endswith("/claim")]
    assert claims == ["first", "own-0", "machine-0", "own-1", "machine-1"]


def test_message_delivered_twice_runs_its_job_once(running: WorkerProcess) -> None:
    job, last = running.site.add("job"), running.site.add("last")
    for job_id in ("job", "job", "last"):
        running.send(job_id)
    wait_for(lambda: last.state == "done")
    assert len(job.bodies) == 1


def test_paused_worker_takes_no_job_until_resumed(running: WorkerProcess) -> None:
    running.site.paused = True
    running.wait_for_log("paused: takes no job")
    jobs = [running.site.add("job"), running.site.add("own")]
    running.send("job")
    running.send("own", queue="machine.cpu.local")
    calls_before = len(running.site.calls)
    wait_for(lambda: len(running.site.calls) > calls_before + 5)
    assert not any(call.endswith("/claim") for call in running.site.calls)
    running.site.paused = False
    wait_for(lambda: all(job.state == "done" for job in jobs))


def test_message_without_a_job_id_is_dropped(running: WorkerProcess) -> None:
    job = running.site.add("job")
    running.send("../../etc")
    running.send("job")
    wait_for(lambda: job.state == "done")
    assert "no such ids" in running.log.read_text()


def test_every_log_line_of_a_job_has_its_id(running: WorkerProcess) -> None:
    job = running.site.add("logged-job")
    running.send("logged-job")
    wait_for(lambda: job.state == "done")
    running.wait_for_log('"result delivered"')
    events = set()
    for text in running.log.read_text().splitlines():
        if text.startswith("{"):
            line = json.loads(text)
            if line.get("job") == "logged-job":
                events.add(line["event"])
    assert events >= {"job claimed", "job ended", "result delivered"}


def test_unset_variable_is_named_and_nothing_starts(site: SiteServer, tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path, site, "redis://nowhere")
    worker.start(WORKER_TOKEN="", VAR_DIR=str(tmp_path))
    assert worker.process.returncode == 2
    assert "WORKER_TOKEN: set it to this worker's token" in worker.log.read_text()
    assert site.hellos == []
