"""A whole worker over a real RabbitMQ, with an account for its machine's queue (marked slow)."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from amqp.exceptions import AccessRefused  # type: ignore[import-untyped]
from celery import Celery
from kombu import Connection

from tests.builders.rabbit import EVERYTHING, Rabbit, of_machine, rabbit
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import WorkerProcess

pytestmark = pytest.mark.slow
CONSUMER_TIMEOUT_S = 3.0  # the server's own is 30 minutes, against jobs of two hours


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Rabbit]:
    accounts = {"site": EVERYTHING, "worker": of_machine("cpu")}
    with rabbit(tmp_path_factory.mktemp("rabbit"), accounts, CONSUMER_TIMEOUT_S) as running:
        yield running


@pytest.fixture
def worker(server: Rabbit, site: SiteServer, tmp_path: Path) -> Iterator[WorkerProcess]:
    process = WorkerProcess(tmp_path, site, server.url("worker"), sent_from=server.url("site"))
    process.start()
    yield process
    process.clean_up()


def test_job_far_beyond_the_consumer_timeout_runs_once(
    worker: WorkerProcess, server: Rabbit
) -> None:
    long_job = worker.site.add("long", config="long")
    next_job = worker.site.add("next")
    worker.send("long")
    worker.send("next")
    wait_for(lambda: next_job.state == "done", seconds=120)
    assert len(long_job.bodies) == 1
    assert long_job.attempt == 1
    assert len(next_job.bodies) == 1
    # What the server logs when it takes a message back
    assert server.has_logged("delivery acknowledgement")


def test_remote_control_shows_what_the_worker_does(worker: WorkerProcess, server: Rabbit) -> None:
    worker.site.add("shown", config="long")
    worker.send("shown")
    wait_for(lambda: worker.site.jobs["shown"].state == "running")
    with Celery("site", broker=server.url("site")) as app:
        active = app.control.inspect(timeout=10, limit=1).active()
    [tasks] = active.values()
    [task] = tasks
    assert task["args"] == ["shown", 1]


def test_account_of_a_worker_cannot_take_jobs_of_another_machine(server: Rabbit) -> None:
    with Connection(server.url("site")) as site:
        site.SimpleQueue("machine.h200").put("a job")
    with Connection(server.url("worker")) as worker, pytest.raises(AccessRefused):
        worker.default_channel.basic_get("machine.h200")
