"""Real torch releases from the package index, installed side by side on this machine and measured.

It takes minutes and gigabytes.
`make test-slow ARGS="-k real_builds -s"`; REAL_BUILDS names the releases, as "2.11.0 2.7.1".
"""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from dashboard.catalog.services.builds import add_build
from dashboard.local.embedded_broker import EmbeddedBroker
from dashboard.models import InstalledEnvironment, Job, Machine, Run, Track, Worker
from dashboard.runs.services import fleet
from dashboard.runs.services.run_state import is_over
from dashboard.runs.services.runs import trigger_run
from tests.builders.waiting import wait_for

pytestmark = [pytest.mark.slow, pytest.mark.compiles, pytest.mark.timeout(3600)]
BUILDS = os.environ.get("REAL_BUILDS", "2.11.0 2.7.1").split()
MLP = "mlp.smoke.inference.float32.static.b64"
PATIENCE_S = 3000


@pytest.fixture
def worker(live_server: Any, broker: EmbeddedBroker, tmp_path: Path) -> Iterator[Worker]:
    """`python -m runner` as a process; this machine's interpreter is its adopted build."""
    machine = Machine.objects.create(key="cpu-2c", device_kind="cpu")
    row, token = fleet.add_worker(name="w1", machine=machine)
    variables = {
        "SITE_URL": live_server.url,
        "WORKER_TOKEN": token,
        "BROKER_URL": broker.url,
        "WORKER_DIR": str(tmp_path / "worker"),
        "WORKER_LOCK_DIR": str(tmp_path),
        "VAR_DIR": str(tmp_path),
    }
    log_path = tmp_path / "worker.log"
    with log_path.open("w") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "runner"],
            env={**os.environ, **variables},
            stdout=log,
            stderr=log,
        )
    wait_for(lambda: process.poll() is not None or " ready." in log_path.read_text(), 300)
    try:
        yield row
    finally:
        process.terminate()
        process.wait(60)
        sys.stdout.write(log_path.read_text())


def measure(build: str) -> Run:
    """A run of one cheap case, eager and compiled, which has ended."""
    run = trigger_run(
        build=build,
        machine="cpu-2c",
        track="versions",
        benchmarks=[MLP],
        configs=["inductor"],
        measure={"budget_s": 5},
    )
    wait_for(lambda: is_over(Run.objects.get(pk=run.pk).state), PATIENCE_S)
    return run


@pytest.mark.django_db(transaction=True)
def test_releases_are_installed_when_a_job_needs_them_and_measured(worker: Worker) -> None:
    Track.objects.create(key="versions", kind=Track.Kind.VERSIONS)
    for version in BUILDS:
        began = time.monotonic()
        run = measure(add_build(version=version).label)
        job = Job.objects.select_related("result", "requirements").get(run=run)
        assert job.status == "pass", job.message
        environment = InstalledEnvironment.objects.get(worker=worker, build__version=version)
        torch = job.result.document["environment"]["torch"]["version"]
        seconds = time.monotonic() - began
        report = f"{version}: torch {torch}, {environment.size_mb} MB, {seconds:.0f} s"
        sys.stdout.write(f"\n{report}\n")
        assert torch.split("+")[0] == version
        assert job.requirements
        assert f"torch=={version}" in job.requirements.text
    again = time.monotonic()
    measure(BUILDS[0])
    sys.stdout.write(f"{BUILDS[0]} again: {time.monotonic() - again:.0f} s\n")
    assert InstalledEnvironment.objects.filter(adopted=False, state="ready").count() == len(BUILDS)
