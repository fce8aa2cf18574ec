"""A worker with a fake suite and a site of its own.

Nothing is mocked: real processes, real HTTP, real files.
"""

import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from dashboard.local.embedded_broker import EmbeddedBroker
from runner.device import WorkerDevice
from runner.environments import package_managers
from runner.environments.adopted import SuiteEnvironment
from runner.outbox import Outbox
from runner.settings import WorkerSettings
from runner.shared_memory import SharedFlag
from runner.site import Site
from runner.worker import Worker
from tests.builders import worker_suite
from tests.builders.environments import Provider
from tests.builders.package_index import PackageIndex
from tests.builders.site_server import TOKEN, SiteServer
from tests.builders.worker_process import WorkerProcess


@pytest.fixture
def site() -> Iterator[SiteServer]:
    server = SiteServer()
    yield server
    server.stop()


@pytest.fixture
def client(site: SiteServer) -> Site:
    return Site(site.url, TOKEN, SharedFlag())


@pytest.fixture
def worker(site: SiteServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Worker:
    """A worker of the CPU that the site knows, whose suite is tests/builders/worker_suite.py."""
    monkeypatch.setenv("HOME", str(tmp_path))  # where the fake suite notes the pids of its children
    settings = WorkerSettings(
        site_url=site.url,
        token=TOKEN,
        broker_url="redis://nowhere",
        worker_dir=tmp_path / "worker",
        lock_dir=tmp_path,
        device=WorkerDevice("cpu"),
        suite_python=sys.executable,
        log_format="text",
        environments_dir=tmp_path / "environments",
    )
    command = (sys.executable, worker_suite.__file__)
    environment = SuiteEnvironment(command, worker_suite.BUILD, worker_suite.CATALOG)
    stopping = SharedFlag()
    outbox = Outbox(settings.worker_dir)
    worker = Worker(settings, environment, Site(site.url, TOKEN, stopping), outbox, stopping)
    worker.greet()
    return worker


@pytest.fixture(scope="session")
def broker_url() -> Iterator[str]:
    """A real Valkey on a Unix socket."""
    home = Path(tempfile.mkdtemp(prefix="cw-broker-"))
    broker = EmbeddedBroker(home)
    yield broker.start()
    broker.stop()
    shutil.rmtree(home)


@pytest.fixture(scope="session")
def worker_process(
    broker_url: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[WorkerProcess]:
    server = SiteServer()
    process = WorkerProcess(tmp_path_factory.mktemp("worker"), server, broker_url)
    yield process
    process.clean_up()
    server.stop()


@pytest.fixture
def running(worker_process: WorkerProcess) -> WorkerProcess:
    """A whole worker with an empty queue; it may run already: starting one takes seconds."""
    if not worker_process.is_running():
        worker_process.start()
    os.truncate(worker_process.log, 0)
    worker_process.site.jobs.clear()
    worker_process.site.calls.clear()
    return worker_process


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    """torch 0.0.1 and 0.0.2, each with its numpy, and the triton of a CUDA build."""
    index = PackageIndex(tmp_path / "index")
    for number in ("1", "2"):
        index.add("numpy", f"1.0.{number}")
        index.add_torch(f"0.0.{number}", needs=[f"numpy==1.0.{number}", "triton"])
    index.add("triton", "3.0.0")
    yield index
    index.stop()


@pytest.fixture
def provider(
    worker: Worker, site: SiteServer, index: PackageIndex, monkeypatch: pytest.MonkeyPatch
) -> Provider:
    for installer in ("UV_HTTP", "PIP"):
        monkeypatch.setenv(f"{installer}_RETRIES", "0")
    worker.settings = replace(worker.settings, package_index_url=index.url)
    return Provider(worker, site, index)


@pytest.fixture
def only_pip(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine without uv."""
    monkeypatch.setattr(package_managers, "_uv_program", str)
