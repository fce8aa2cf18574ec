"""docs/api.md, command-line.md, gate.md and the notebook: every command in them is run, against a
real site.
"""

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from functools import partial
from pathlib import Path
from typing import Any

import plotly.graph_objects as go
import pytest
from django.test import Client as Browser

from compilewatch_client.__main__ import parser
from compilewatch_client.commands import COMMANDS
from dashboard.models import Job, Result
from tests.builders import alerting, comparing, site
from tests.builders.docker_files import ROOT
from tests.builders.waiting import wait_for

DOCS = ROOT / "docs"
CHECKER = str(Path(sys.executable).with_name("check-jsonschema"))
pytestmark = pytest.mark.django_db(transaction=True)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def commands(page: str, *, measure: bool = False) -> list[str]:
    """Each command of a page's shell blocks, with its continued lines; those that install are left
    out.
    """
    text = "".join(blocks(page, "sh")).replace("\\\n", " ")
    lines = [" ".join(line.split()) for line in text.splitlines() if not line.startswith("pip ")]
    return [line for line in lines if measures(line) == measure]


def measures(line: str) -> bool:
    """Whether it waits for jobs, which nobody runs in these tests."""
    words = shlex.split(line)
    return bool({"gate", "compare", "bisect"} & {*words}) or (
        "run" in words and "--dry-run" not in words
    )


class Shell:
    """A terminal in which `compilewatch` and `python` are known."""

    def __init__(self, folder: Path) -> None:
        for name, words in {"compilewatch": "-m compilewatch_client", "python": ""}.items():
            (folder / name).write_text(f'#!/bin/sh\nexec {sys.executable} {words} "$@"\n')
            (folder / name).chmod(0o755)
        environment = {
            **os.environ,
            "PATH": f"{folder}:{os.environ['PATH']}",
            "PYTHONPATH": str(ROOT),
        }
        self._how: dict[str, Any] = {"shell": True, "cwd": folder, "env": environment, "text": True}

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(line, **self._how, capture_output=True, check=False)

    def run_until(self, line: str, is_enough: Callable[[], bool]) -> None:
        """Start a command and stop it as Ctrl-C does, once that is true."""
        # Whoever runs the tests in the background has SIGINT ignored, and children inherit that.
        heeds = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(line, **self._how, start_new_session=True, preexec_fn=heeds)  # noqa: PLW1509
        try:
            wait_for(lambda: is_enough() or process.poll() is not None, 120)
        finally:
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGINT)
            process.wait(60)


@pytest.fixture
def shell(online: None, tmp_path: Path) -> Shell:
    """On a site with some data and something to trigger."""
    alerting.measure({"latency_ms": 2.0}, 0)
    site.worker()
    alerting.group(pk=1)
    data = ROOT / "tests" / "data"
    (tmp_path / "result.json").write_bytes((data / "golden" / "result.pass.json").read_bytes())
    (tmp_path / "benchmark_results.json").write_bytes(
        (data / "imports" / "torchao_first.json").read_bytes()
    )
    return Shell(tmp_path)


# --- The command
# ------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("line", commands("command-line.md"))
def test_a_command_of_the_docs_ends_well(shell: Shell, line: str) -> None:
    done = shell.run(line)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout


@pytest.mark.parametrize(
    "line", commands("command-line.md", measure=True) + commands("gate.md", measure=True)[:1]
)
def test_a_command_that_measures_is_taken(shell: Shell, line: str) -> None:
    site.build(comparing.BASE)
    site.build("2.12.0+cpu")
    shell.run_until(line, lambda: Job.objects.filter(run__created_by__username="ada").exists())
    assert Job.objects.filter(run__created_by__username="ada").exists()


@pytest.mark.slow
def test_the_gate_between_two_interpreters_is_run(shell: Shell, tmp_path: Path) -> None:
    for side in ("base", "new"):
        folder = tmp_path / f".venv-{side}" / "bin"
        folder.mkdir(parents=True)
        (folder / "python").write_bytes((tmp_path / "python").read_bytes())
        (folder / "python").chmod(0o755)
    done = shell.run(commands("gate.md", measure=True)[1])
    # One machine, one torch: what it finds is its noise
    assert done.returncode in {0, 1, 3}, done.stderr
    assert done.stdout.startswith("### base (torch ")


def test_every_command_is_told() -> None:
    text = (DOCS / "command-line.md").read_text()
    assert all(re.search(rf"^\| `{name}\b", text, re.MULTILINE) for name in COMMANDS)


# --- The API
# ----------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize("line", blocks("api.md", "sh"))
def test_a_call_of_the_docs_is_answered(shell: Shell, line: str) -> None:
    done = shell.run(line.replace("curl", "curl -sS --fail-with-body"))
    assert done.returncode == 0, done.stderr + done.stdout
    assert "detail" not in json.loads(done.stdout)


def test_the_results_of_the_docs_are_there(shell: Shell) -> None:
    for line in blocks("api.md", "sh")[-2:]:
        shell.run(line)
    assert Result.objects.filter(job__run__label="laptop").exists()
    assert Result.objects.filter(job__run__track__key="torchao").count() == 6


def test_the_python_of_the_docs_reads_the_series(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(blocks("api.md", "python")[0], {})
    assert f"{site.MLP} inductor 2.0 ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    "address",
    re.findall(r"\| `(/(?:badge|embed|oembed|alerts)[^`?]*)", (DOCS / "api.md").read_text()),
)
def test_an_address_for_other_pages_is_there(address: str, admin_client: Browser) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    address = address.replace("<benchmark>", site.MLP).replace("<config>", "inductor")
    url = f"/series/{site.MLP}/"
    assert (
        admin_client.get(address, {"url": url} if address == "/oembed" else {}).status_code == 200
    )


# --- The notebook
# -----------------------------------------------------------------------------------------------------
def test_the_notebook_draws_a_series_in_five_lines(shell: Shell) -> None:
    cells = json.loads((DOCS / "notebook.ipynb").read_text())["cells"]
    lines = [
        line.rstrip("\n")
        for cell in cells
        if cell["cell_type"] == "code"
        for line in cell["source"]
    ]
    names: dict[str, Any] = {}
    exec("\n".join(lines[:-1]), names)
    figure = eval(lines[-1], names)
    assert isinstance(figure, go.Figure)
    assert (2.0,) in [tuple(trace.y) for trace in figure.data]
    assert len(lines) == 5
    assert "\n".join(lines) == blocks("api.md", "python")[1].strip()


# --- Workflows
# --------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.github-workflows", "github-actions.yml"), ("vendor.gitlab-ci", "gitlab-ci.yml")],
)
def test_a_workflow_follows_its_schema_and_its_command_is_understood(
    schema: str, file: str
) -> None:
    done = subprocess.run(
        [CHECKER, "--builtin-schema", schema, str(DOCS / "ci" / file)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
    found = re.search(
        r"compilewatch_client (gate .*?)\n(?!\s+--)", (DOCS / "ci" / file).read_text(), re.DOTALL
    )
    assert found
    asked = parser().parse_args(
        shlex.split(re.sub(r"\$\{\{.*?\}\}", "x", found[1].replace("\\\n", " ")))
    )
    assert (asked.command, asked.model, asked.repeats) == ("gate", ["gpt2"], 5)
