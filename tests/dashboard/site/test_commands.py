"""The management commands: set up a local machine, trigger, cancel, add a worker."""

import io
import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command

from dashboard.local.project import ROOT
from dashboard.models import (
    Benchmark,
    Job,
    Run,
    Schedule,
    Track,
    Worker,
)
from dashboard.runs.services import fleet
from tests.builders import site

pytestmark = pytest.mark.django_db


def call(*arguments: object) -> str:
    out = io.StringIO()
    call_command(*map(str, arguments), stdout=out, stderr=out)
    return out.getvalue()


@pytest.fixture
def setup(tmp_path: Path) -> Sequence[str]:
    """The command line of setup_local with the builder's catalog."""
    catalog, build = tmp_path / "catalog.json", tmp_path / "build.json"
    catalog.write_text(json.dumps(site.catalog()))
    build.write_text(
        json.dumps(
            {
                "label": site.BUILD,
                "version": "2.13.0",
                "adopted": True,
            }
        )
    )
    return "setup_local", "--catalog", str(catalog), "--build", str(build), "--json"


def test_setup_local_creates_everything_that_a_machine_needs(setup: Sequence[str]) -> None:
    made = json.loads(call(*setup))
    assert User.objects.get(username="admin").check_password(made["admin_password"])
    assert fleet.worker_of_token(made["worker_token"]) == Worker.objects.get(
        name="local", machine__key=made["machine"]
    )
    assert Schedule.objects.get().enabled
    assert Run.objects.get().pk == made["first_run"]
    assert Job.objects.count() == 4


def test_setup_local_again_changes_nothing(
    setup: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("WORKER_TOKEN", json.loads(call(*setup))["worker_token"])
    again = json.loads(call(*setup))
    assert again["admin_password"] is None
    assert again["worker_token"] is None
    assert again["first_run"] is None
    assert Run.objects.count() == 1
    assert Worker.objects.count() == 1
    assert Schedule.objects.count() == 1


def test_setup_local_follows_a_newly_installed_torch(setup: Sequence[str]) -> None:
    call(*setup)
    Path(setup[4]).write_text(json.dumps({"label": "2.14.0+cpu", "version": "2.14.0"}))
    call(*setup)
    assert str(Track.objects.get().build) == "2.14.0+cpu"


def test_setup_local_replaces_an_unknown_token(
    setup: Sequence[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    call(*setup)
    monkeypatch.setenv("WORKER_TOKEN", "of another database")
    assert json.loads(call(*setup))["worker_token"]


def test_setup_local_retires_what_the_suite_no_longer_has(setup: Sequence[str]) -> None:
    call(*setup)
    Path(setup[2]).write_text(
        json.dumps({**site.catalog(), "benchmarks": site.catalog()["benchmarks"][:1]})
    )
    call(*setup)
    assert list(Benchmark.objects.filter(retired=False).values_list("name", flat=True)) == [
        site.MLP
    ]


@pytest.mark.parametrize("content", ["{", "[]", '{"benchmarks": 1, "configs": []}'])
def test_setup_local_names_the_file_that_it_cannot_read(setup: Sequence[str], content: str) -> None:
    Path(setup[2]).write_text(content)
    with pytest.raises(CommandError, match=r"catalog"):
        call(*setup)


def test_trigger_run_prints_its_run() -> None:
    site.worker()
    site.track()
    output = call("trigger_run", "--build", site.BUILD, "--machine", "cpu-2c", "--family", "toy")
    assert output == f"run {Run.objects.get().pk}: 2 jobs\n"


def test_trigger_run_says_what_is_unknown() -> None:
    site.worker()
    with pytest.raises(CommandError, match="Unknown torch build '9'"):
        call("trigger_run", "--build", "9", "--machine", "cpu-2c")


def test_trigger_run_takes_the_version_of_the_only_build_that_has_it() -> None:
    site.worker()
    site.track()
    call("trigger_run", "--build", "2.13.0", "--machine", "cpu-2c")
    assert str(Run.objects.get().build) == site.BUILD


def test_dry_run_plans_nothing() -> None:
    site.worker()
    site.track()
    output = call(
        "trigger_run", "--build", site.BUILD, "--machine", "cpu-2c", "--dry-run"
    ).splitlines()
    assert output[0] == f"{site.MLP} eager"
    assert output[-1].startswith("4 jobs, about ")
    assert not Run.objects.exists()


@pytest.mark.parametrize(
    ("option", "message"),
    [
        (("--build", "9"), "Unknown torch build '9'"),
        (("--track", "bogus"), "Unknown track 'bogus'"),
    ],
)
def test_dry_run_says_what_is_unknown(option: tuple[str, str], message: str) -> None:
    site.worker()
    site.track()
    options = "--build", site.BUILD, "--machine", "cpu-2c"
    with pytest.raises(CommandError, match=message):
        call("trigger_run", *options, *option, "--dry-run")


def test_removed_command_says_what_replaces_it() -> None:
    removed = [sys.executable, str(ROOT / "manage.py"), "exchange_factors"]
    result = subprocess.run(removed, capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert "compare builds that differ in one factor" in result.stderr


def test_add_worker_prints_a_token_that_works() -> None:
    token = call("add_worker", "gpu7", "--machine", "h200", "--create", "cuda").strip()
    worker = fleet.worker_of_token(token)
    assert worker
    assert worker.name == "gpu7"
    assert worker.machine.default_size == "standard"


def test_add_worker_says_when_the_name_is_taken() -> None:
    site.worker("w1")
    with pytest.raises(CommandError, match="Worker w1 exists"):
        call("add_worker", "w1", "--machine", "cpu-2c")


def test_run_is_cancelled_by_its_number() -> None:
    run = site.run()
    assert call("cancel_run", run.pk).strip() == "1 job cancelled"
    with pytest.raises(CommandError, match="There is no run 0"):
        call("cancel_run", 0)
