"""The dashboard worker, as `make up` starts it, next to a broker that hangs."""

import os
import secrets
import signal
import subprocess

import psutil
import pytest

from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.local.processes import wait_until
from dashboard.local.programs import WORKER, programs
from tests.builders.local_site import ROOT
from tests.builders.servers import open_folder


def test_nothing_is_left_of_a_killed_worker_whose_broker_hangs() -> None:
    with open_folder() as folder:
        broker = EmbeddedBroker(folder / "broker")
        environment = {
            **os.environ,
            "BROKER_URL": broker.start(),
            "DATABASE_URL": "postgresql://nowhere/none",
            "SECRET_KEY": secrets.token_hex(32),
            "VAR_DIR": str(folder),
        }
        worker = subprocess.Popen(WORKER, cwd=ROOT, env=environment)
        try:
            master = psutil.Process(worker.pid)
            assert wait_until(lambda: len(master.children()) == 2, 60)
            children = master.children()
            assert broker.pid is not None
            os.kill(broker.pid, signal.SIGSTOP)
            worker.kill()
            assert wait_until(lambda: not any(map(is_running, children)), 10)
        finally:
            worker.kill()
            worker.wait(timeout=10)
            if broker.pid is not None:
                os.kill(broker.pid, signal.SIGCONT)
            broker.stop()


def is_running(process: psutil.Process) -> bool:
    return process.is_running() and process.status() != psutil.STATUS_ZOMBIE


@pytest.mark.parametrize("name", ["scheduler", "worker"])
def test_what_holds_nothing_is_killed_with_the_supervisor(name: str) -> None:
    started = {program.name: program for program in programs({}, 8000)}
    assert started[name].death_signal == signal.SIGKILL
