"""The main process's heartbeat: what it does in one beat, and what it does not wait for."""

from concurrent.futures import ThreadPoolExecutor

from runner.locks import exclusive_lock
from runner.outcome import JobOutcome, result_body
from runner.worker import Worker
from runner.worker_heartbeat import WorkerHeartbeat
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for


def heartbeat_of(worker: Worker) -> WorkerHeartbeat:
    return WorkerHeartbeat(worker, 3, consume=lambda on: True)


def test_beat_delivers_what_waits(worker: Worker, site: SiteServer) -> None:
    site.add("job").state = "running"
    worker.outbox.put("job", 1, result_body(1, JobOutcome("pass"), {}))
    heartbeat_of(worker).beat()
    wait_for(lambda: worker.outbox.waiting() == [])


def test_delivery_that_takes_long_does_not_hold_up_the_next_beat(
    worker: Worker, site: SiteServer
) -> None:
    heartbeat = heartbeat_of(worker)
    with ThreadPoolExecutor() as pool, exclusive_lock(worker.outbox.folder / ".lock"):
        for _ in range(2):
            pool.submit(heartbeat.beat).result(10)
    assert site.calls.count("POST alive") == 2
