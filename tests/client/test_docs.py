"""Every command of docs/api.md, command-line.md, gate.md and the notebook, on a real site."""

import json
import os
import re
import shlex
import shutil
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

from compilewatch_client.__main__ import command_parser
from compilewatch_client.commands import SUBCOMMANDS
from dashboard.models import Job, Result
from tests.builders import alerting, site
from tests.builders import comparisons as comparing
from tests.builders.docker_files import ROOT
from tests.builders.waiting import wait_for

DOCS = ROOT / "docs"
DATA = ROOT / "tests" / "data"
CHECKER = str(Path(sys.executable).with_name("check-jsonschema"))
pytestmark = pytest.mark.django_db(transaction=True)


def blocks(page: str, language: str) -> list[str]:
    return re.findall(rf"```{language}\n(.*?)```", (DOCS / page).read_text(), re.DOTALL)


def commands(page: str, *, measure: bool = False) -> list[str]:
    """The commands of a page's shell blocks, in a line each, without those that install."""
    text = "".join(blocks(page, "sh")).replace("\\\n", " ")
    lines = []
    for line in text.splitlines():
        if not line.startswith("pip ") and measures(line) == measure:
            lines.append(" ".join(line.split()))
    return lines


def measures(line: str) -> bool:
    """Whether it waits for jobs, which nobody runs in these tests."""
    words = set(shlex.split(line))
    if "run" in words:
        return "--dry-run" not in words
    return bool(words & {"gate", "compare", "bisect"})


class Shell:
    """A terminal in which `compilewatch` and `python` are known."""

    def __init__(self, folder: Path) -> None:
        for name, module in {"compilewatch": "-m compilewatch_client", "python": ""}.items():
            file = folder / name
            file.write_text(f'#!/bin/sh\nexec {sys.executable} {module} "$@"\n')
            file.chmod(0o755)
        path = f"{folder}:{os.environ['PATH']}"
        environment = {**os.environ, "PATH": path, "PYTHONPATH": str(ROOT)}
        self._options: dict[str, Any] = {
            "shell": True,
            "cwd": folder,
            "env": environment,
            "text": True,
        }

    def run(self, line: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            line,
            **self._options,
            capture_output=True,
            check=False,
        )

    def run_until(self, line: str, is_enough: Callable[[], bool]) -> None:
        """Start a command and stop it as Ctrl-C does, once that is true."""
        # Whoever runs the tests in the background ignores SIGINT, and children inherit that
        heed_interrupts = partial(signal.signal, signal.SIGINT, signal.SIG_DFL)
        process = subprocess.Popen(
            line,
            **self._options,
            start_new_session=True,
            preexec_fn=heed_interrupts,  # noqa: PLW1509
        )
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
    shutil.copy(DATA / "golden" / "result.pass.json", tmp_path / "result.json")
    shutil.copy(DATA / "imports" / "torchao_first.json", tmp_path / "benchmark_results.json")
    return Shell(tmp_path)


# --- The command


@pytest.mark.parametrize("line", commands("command-line.md"))
def test_documented_command_succeeds(shell: Shell, line: str) -> None:
    result = shell.run(line)
    assert result.returncode == 0
    assert result.stderr == ""
    assert result.stdout


@pytest.mark.parametrize(
    "line", commands("command-line.md", measure=True) + commands("gate.md", measure=True)[:1]
)
def test_documented_command_that_measures_creates_jobs(shell: Shell, line: str) -> None:
    site.build(comparing.BASE)
    site.build("2.12.0+cpu")
    jobs = Job.objects.filter(run__created_by__username="ada")
    shell.run_until(line, jobs.exists)
    assert jobs.exists()


@pytest.mark.slow
def test_documented_gate_between_two_interpreters_is_run(shell: Shell, tmp_path: Path) -> None:
    for side in ("base", "new"):
        folder = tmp_path / f".venv-{side}" / "bin"
        folder.mkdir(parents=True)
        shutil.copy(tmp_path / "python", folder / "python")
    result = shell.run(commands("gate.md", measure=True)[1])
    # One machine, one torch: what it finds is its noise
    assert result.returncode in {0, 1, 3}, result.stderr
    assert result.stdout.startswith("### base (torch ")


@pytest.mark.parametrize("name", SUBCOMMANDS)
def test_every_command_is_documented(name: str) -> None:
    text = (DOCS / "command-line.md").read_text()
    assert re.search(rf"^\| `{name}\b", text, re.MULTILINE)


# --- The API


@pytest.mark.parametrize("line", blocks("api.md", "sh"))
def test_documented_call_succeeds(shell: Shell, line: str) -> None:
    result = shell.run(line.replace("curl", "curl -sS --fail-with-body"))
    assert result.returncode == 0, result.stderr + result.stdout
    assert "detail" not in json.loads(result.stdout)


def test_documented_calls_post_results(shell: Shell) -> None:
    for line in blocks("api.md", "sh")[-2:]:
        shell.run(line)
    assert Result.objects.filter(job__run__label="laptop").exists()
    assert Result.objects.filter(job__run__track__key="torchao").count() == 6


def test_documented_python_reads_the_series(
    shell: Shell, capsys: pytest.CaptureFixture[str]
) -> None:
    exec(blocks("api.md", "python")[0], {})
    assert f"{site.MLP} inductor 2.0 ms" in capsys.readouterr().out


@pytest.mark.parametrize(
    "address",
    re.findall(r"\| `(/(?:badge|alerts)[^`?]*)", (DOCS / "api.md").read_text()),
)
def test_documented_address_for_other_pages_exists(address: str, admin_client: Browser) -> None:
    alerting.measure({"latency_ms": 2.0}, 0)
    address = address.replace("<benchmark>", site.MLP).replace("<config>", "inductor")
    assert admin_client.get(address).status_code == 200


# --- The notebook


def notebook_code() -> str:
    notebook = json.loads((DOCS / "notebook.ipynb").read_text())
    [source] = [cell["source"] for cell in notebook["cells"] if cell["cell_type"] == "code"]
    return "".join(source)


def test_notebook_draws_a_series(shell: Shell) -> None:
    statements, _, last_line = notebook_code().rpartition("\n")
    names: dict[str, Any] = {}
    exec(statements, names)
    figure = eval(last_line, names)
    assert isinstance(figure, go.Figure)
    assert (2.0,) in [tuple(trace.y) for trace in figure.data]


def test_notebook_has_five_lines_as_the_documentation_shows() -> None:
    lines = [line for line in notebook_code().splitlines() if line]
    documented = blocks("api.md", "python")[1]
    assert len(lines) == 5
    assert notebook_code() == documented.strip()


# --- Workflows


@pytest.mark.parametrize(
    ("schema", "file"),
    [("vendor.github-workflows", "github-actions.yml"), ("vendor.gitlab-ci", "gitlab-ci.yml")],
)
def test_workflow_follows_its_schema(schema: str, file: str) -> None:
    command = [CHECKER, "--builtin-schema", schema, str(DOCS / "ci" / file)]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stdout


@pytest.mark.parametrize("file", ["github-actions.yml", "gitlab-ci.yml"])
def test_command_of_a_workflow_is_valid(file: str) -> None:
    text = (DOCS / "ci" / file).read_text()
    command = re.search(r"compilewatch_client (gate .*?)\n(?!\s+--)", text, re.DOTALL)
    assert command
    line = command[1].replace("\\\n", " ")
    line = re.sub(r"\$\{\{.*?\}\}", "x", line)  # the workflow's expressions
    options = command_parser().parse_args(shlex.split(line))
    assert options.command == "gate"
    assert options.model == ["gpt2"]
    assert options.repeats == 5
