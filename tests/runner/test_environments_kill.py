"""kill -9 while an environment is installed: the half-built one is not used, the job runs again."""

from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from dashboard.local.embedded_broker import EmbeddedBroker
from tests.builders.environments import requested_environment
from tests.builders.package_index import PackageIndex
from tests.builders.site_server import SiteServer
from tests.builders.waiting import wait_for
from tests.builders.worker_process import WorkerProcess


@pytest.fixture
def index(tmp_path: Path) -> Iterator[PackageIndex]:
    package_index = PackageIndex(tmp_path / "index")
    package_index.add_torch("0.0.1")
    package_index.delay_s = 60
    yield package_index
    package_index.stop()


@pytest.fixture
def broker_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A broker for each test: the worker of other files could take a job from a shared one."""
    broker = EmbeddedBroker(tmp_path_factory.mktemp("broker"))
    yield broker.start()
    broker.stop()


@pytest.fixture
def installing(
    site: SiteServer, index: PackageIndex, broker_url: str, tmp_path: Path
) -> Iterator[WorkerProcess]:
    """A whole worker in the middle of an installation that would take a minute."""
    worker = WorkerProcess(tmp_path, site, broker_url)
    try:
        worker.start(PACKAGE_INDEX_URL=index.url)
        site.add("job", environment=requested_environment())
        worker.send("job")
        wait_for(lambda: half_built(worker) and index.calls[-1].endswith(".whl"))
        yield worker
    finally:
        worker.clean_up()


def half_built(worker: WorkerProcess) -> list[str]:
    environments = worker.home / "worker" / "environments"
    return [path.name for path in environments.glob(".new-*")]


def installers(worker: WorkerProcess) -> list[psutil.Process]:
    return [process for process in worker.suite_processes() if "uv" in process.name()]


def finish(worker: WorkerProcess, index: PackageIndex) -> None:
    """Let the second attempt pass: it ends with a complete environment."""
    index.delay_s = 0
    worker.send("job", attempt=2)
    wait_for(lambda: worker.site.jobs["job"].bodies)
    assert worker.site.environments[-1]["state"] == "ready"
    assert half_built(worker) == []


def test_worker_killed_while_it_installs_starts_again(
    installing: WorkerProcess, index: PackageIndex
) -> None:
    installing.kill()
    wait_for(lambda: installers(installing) == [], seconds=10)
    installing.start(PACKAGE_INDEX_URL=index.url)
    assert half_built(installing) == []
    finish(installing, index)


def test_job_process_killed_while_it_installs_is_replaced(
    installing: WorkerProcess, index: PackageIndex
) -> None:
    installing.job_process().kill()
    wait_for(lambda: installing.site.jobs["job"].attempt == 2)
    assert installers(installing) == []
    finish(installing, index)


def test_killed_installer_is_a_named_failure(
    installing: WorkerProcess, index: PackageIndex
) -> None:
    index.stop()
    for process in installers(installing):
        process.kill()
    wait_for(lambda: installing.site.jobs["job"].bodies)
    outcome = installing.site.jobs["job"].outcome
    assert outcome["status"] == "fail_to_run"
    assert "The environment of torch build 0.0.1 could not be made here." in outcome["message"]
