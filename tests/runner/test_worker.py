"""The whole worker: what it says, takes and leaves alone."""

import json
import time
from pathlib import Path

from tests.builders.worker import SiteServer, wait_for
from tests.builders.worker_process import WorkerProcess


def test_hello_tells_device_facts_catalog_and_builds(running: WorkerProcess) -> None:
    hello = running.site.hellos[0]
    assert hello["device"] == "cpu"
    assert hello["facts"]["cores"] >= 1
    assert hello["facts"]["suite_version"] == "0.1.0"
    assert hello["catalog"]["benchmarks"][0]["name"].startswith("mlp")
    assert hello["builds"][0]["label"] == "2.13.0+cpu"
    assert hello["builds"][0]["adopted"] is True


def test_jobs_run_one_at_a_time(running: WorkerProcess) -> None:
    jobs = [running.site.add(f"job{number}", config="nap") for number in range(2)]
    for job in jobs:
        running.send(job.spec["job_id"])
    running_at_once = 0
    while any(job.state != "done" for job in jobs):
        time.sleep(0.01)
        running_at_once = max(running_at_once, sum(job.state == "running" for job in jobs))
    assert running_at_once == 1


def test_a_message_delivered_twice_runs_its_job_once(running: WorkerProcess) -> None:
    job, last = running.site.add("job"), running.site.add("last")
    for job_id in ("job", "job", "last"):
        running.send(job_id)
    wait_for(lambda: last.state == "done")
    assert len(job.bodies) == 1


def test_a_paused_worker_leaves_its_queue_alone_until_resumed(running: WorkerProcess) -> None:
    running.site.paused = True
    running.says("paused: takes no job")
    job = running.site.add("job")
    running.send("job")
    beats = len(running.site.calls)
    wait_for(lambda: len(running.site.calls) > beats + 5)
    assert "POST jobs/job/claim" not in running.site.calls
    running.site.paused = False
    wait_for(lambda: job.state == "done")


def test_a_message_that_names_no_job_is_dropped_and_the_queue_goes_on(
    running: WorkerProcess,
) -> None:
    job = running.site.add("job")
    running.send("../../etc")
    running.send("job")
    wait_for(lambda: job.state == "done")
    assert "no such ids" in running.log.read_text()


def test_every_log_line_of_a_job_carries_its_id(running: WorkerProcess) -> None:
    job = running.site.add("told-job")
    running.send("told-job")
    wait_for(lambda: job.state == "done")
    running.says('"result delivered"')
    lines = [
        json.loads(line) for line in running.log.read_text().splitlines() if line.startswith("{")
    ]
    told = {line["event"] for line in lines if line.get("job") == "told-job"}
    assert told >= {"job claimed", "job ended", "result delivered"}


def test_an_unset_variable_is_named_and_nothing_starts(site: SiteServer, tmp_path: Path) -> None:
    worker = WorkerProcess(tmp_path, site, "redis://nowhere")
    worker.start(WORKER_TOKEN="", VAR_DIR=str(tmp_path))
    assert worker.process.returncode == 2
    assert "WORKER_TOKEN: set it to this worker's token" in worker.log.read_text()
    assert site.hellos == []
