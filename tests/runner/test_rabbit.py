"""A whole worker over a real RabbitMQ, with an account that may use its own machine's queue alone
(marked slow).
"""

from collections.abc import Iterator
from pathlib import Path

import pytest
from amqp.exceptions import AccessRefused  # type: ignore[import-untyped]
from celery import Celery
from kombu import Connection

from tests.builders.rabbit import EVERYTHING, Rabbit, of_machine, rabbit
from tests.builders.worker import SiteServer, wait_for
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


def test_a_job_far_beyond_the_consumer_timeout_runs_once(
    worker: WorkerProcess, server: Rabbit
) -> None:
    long, next_one = worker.site.add("long", config="long"), worker.site.add("next")
    worker.send("long")
    worker.send("next")
    wait_for(lambda: next_one.state == "done", seconds=120)
    assert (len(long.bodies), long.attempt, len(next_one.bodies)) == (1, 1, 1)
    assert server.says("delivery acknowledgement")  # its words when it took the message back


def test_remote_control_shows_what_the_worker_does(worker: WorkerProcess, server: Rabbit) -> None:
    worker.site.add("shown", config="long")
    worker.send("shown")
    wait_for(lambda: worker.site.jobs["shown"].state == "running")
    with Celery("site", broker=server.url("site")) as app:
        told = app.control.inspect(timeout=10, limit=1).active()
    assert [task["args"] for tasks in told.values() for task in tasks] == [["shown", 1]]


def test_a_workers_account_cannot_take_another_machines_jobs(server: Rabbit) -> None:
    with Connection(server.url("site")) as site:
        site.SimpleQueue("machine.h200").put("a job")
    with Connection(server.url("worker")) as worker, pytest.raises(AccessRefused):
        worker.default_channel.basic_get("machine.h200")
