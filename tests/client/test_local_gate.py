"""The gate on this machine: the real suite in real processes, with an own model."""

import re
import shlex
import signal
import subprocess
import sys
import venv
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from compilewatch_client.local_measurement import (
    LocalCase,
    LocalError,
    LocalSelection,
    LocalSide,
    interleave,
    select_cases,
)
from tests.builders.docker_files import ROOT
from tests.builders.waiting import wait_for
from tests.client.conftest import CommandResult, RunCommand

MODEL = """
import torch
from torch import nn


class Squares(nn.Module):
    def forward(self, x):
        for _ in range({steps}):
            y = torch.tanh(x @ x)
        return y


def benchmark_squares(batch_size=64):
    return Squares(), torch.randn(batch_size, 64)
"""
DEFAULT = LocalSelection([], [], [], "smoke")


def write_model(file: Path, steps: int) -> None:
    file.write_text(MODEL.format(steps=steps))


def test_model_that_takes_ten_times_as_long_does_not_pass(
    compilewatch: RunCommand, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command of docs/gate.md."""
    page = (ROOT / "docs" / "gate.md").read_text()
    command = re.search(r"compilewatch_client (gate [^`]*before\.py[^`]*)```", page)
    assert command
    words = shlex.split(command[1].replace("$PYTHON", sys.executable).replace("\\\n", " "))
    write_model(tmp_path / "before.py", 1)
    write_model(tmp_path / "after.py", 20)
    monkeypatch.chdir(tmp_path)
    result = compilewatch(*words, "--markdown", "answer.md", "--out", "results")
    assert result.code == 1
    assert result.err.count("Traceback") == 0
    assert "slower" in (tmp_path / "answer.md").read_text()
    assert len(list((tmp_path / "results").glob("*/*/result.json"))) == 6


def test_both_sides_come_first_equally_often() -> None:
    cases = [LocalCase("m", "eager"), LocalCase("n", "eager")]
    sides = [side for _, side in interleave(cases, repeats=2)]
    assert sides == ["base", "new", "new", "base", "new", "base", "base", "new"]


SCRIPTS = {
    "exits with 1": "exit 1",
    "says nothing": "exit 0",
    "prints what is not a list": "echo '[1, \"a\"]'",
    "prints what is not text": "printf '\\377\\376'",
    "ends by a signal": "kill -SEGV $$",
}
FILES = {
    "empty.py": b"",
    "syntax.py": b"import torch\n\ndef benchmark_a(:\n",
    "import_error.py": b"import no_such_library\n\ndef benchmark_a():\n    pass\n",
    "raises.py": b"def benchmark_a():\n    pass\n\n\nraise ValueError('no\\nweights')\n",
    "no_default.py": b"def benchmark_a(batch_size):\n    pass\n",
    "undecodable.py": b"\xff\xfe = 1\n",
    "zeros.py": b"\0\0",
}
PLACES = {"syntax.py": "line 3", "import_error.py": "line 1", "raises.py": "line 5"}


@pytest.fixture
def interpreter(tmp_path: Path, request: pytest.FixtureRequest) -> str:
    """One that cannot measure."""
    path = tmp_path / "python"
    if request.param == "is a folder":
        path.mkdir()
    elif request.param == "has no torch":
        venv.create(path, with_pip=False)
        return str(path / "bin" / "python")
    elif request.param != "is missing":
        path.write_text(f"#!/bin/sh\n{SCRIPTS.get(request.param, '')}\n")
        path.chmod(0o644 if request.param == "is not executable" else 0o755)
    return str(path)


def assert_not_possible(result: CommandResult) -> None:
    assert result.code == 2, result
    assert result.out == ""
    assert result.err.startswith("compilewatch: ")
    assert result.err.count("\n") == 1, result.err


@pytest.mark.parametrize(
    "interpreter",
    ["is missing", "is a folder", "is not executable", "has no torch", *SCRIPTS],
    indirect=True,
)
def test_interpreter_that_cannot_measure_is_not_a_regression(
    compilewatch: RunCommand, interpreter: str
) -> None:
    result = compilewatch("gate", "--base", interpreter, "--new", sys.executable)
    assert_not_possible(result)
    assert interpreter in result.err


@pytest.mark.parametrize("interpreter", ["has no torch"], indirect=True)
def test_new_side_is_looked_at_before_the_base_is_measured(
    compilewatch: RunCommand, interpreter: str
) -> None:
    result = compilewatch("gate", "--base", sys.executable, "--new", interpreter)
    assert_not_possible(result)
    assert result.err.startswith("compilewatch: The new side cannot be measured: ")
    assert result.err.endswith("No module named 'torch'\n")


@pytest.mark.parametrize("name", ["missing.py", "folder", *FILES])
def test_file_without_a_usable_model_is_not_a_regression(tmp_path: Path, name: str) -> None:
    path = tmp_path / name
    if name == "folder":
        path.mkdir()
    elif name in FILES:
        path.write_bytes(FILES[name])
    with pytest.raises(LocalError) as error:
        select_cases([LocalSide("base", sys.executable, [str(path)])], DEFAULT)
    assert str(error.value).startswith(str(path))
    assert PLACES.get(name, "") in str(error.value)


@pytest.fixture
def in_a_terminal() -> Iterator[None]:
    """Where SIGINT counts: what a shell starts in the background, and its children, ignore it."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("in_a_terminal")
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_signal_ends_the_gate_and_what_it_measures(tmp_path: Path, number: int) -> None:
    write_model(tmp_path / "model.py", 1)
    gate = subprocess.Popen(
        [
            *(sys.executable, "-m", "compilewatch_client", "gate", "--base", sys.executable),
            *("--new", sys.executable, "--from", str(tmp_path / "model.py"), "--config", "eager"),
            *("--budget-s", "300", "--out", str(tmp_path / "out")),
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=ROOT,
    )
    wait_for(lambda: list(tmp_path.glob("out/base/*/log.txt")), 120)
    gate.send_signal(number)
    out, err = gate.communicate(timeout=60)
    assert gate.returncode == 128 + number
    assert out == ""
    assert err == "compilewatch: stopped\n"
    assert not any(str(tmp_path) in line for line in command_lines())


def command_lines() -> Iterator[str]:
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):  # it has ended
            yield path.read_text()


@pytest.mark.parametrize("option", ["--metric=latency", "--config=inductr"])
def test_option_without_a_meaning_is_refused_before_anything_is_measured(
    compilewatch: RunCommand, tmp_path: Path, option: str
) -> None:
    sides = "--base", sys.executable, "--new", sys.executable
    result = compilewatch("gate", *sides, "--config=eager", option, "--out", str(tmp_path / "out"))
    assert result.code == 2
    assert option.partition("=")[2] in result.err
    assert not (tmp_path / "out").exists()


def test_unknown_model_is_refused_with_a_list_of_models() -> None:
    with pytest.raises(LocalError, match=r"Models: .*gpt2"):
        select_cases([LocalSide("base", sys.executable)], LocalSelection(["gtp2"], [], [], "smoke"))


def test_without_options_the_default_selection_of_the_size_is_measured() -> None:
    cases = select_cases([LocalSide("base", sys.executable)], DEFAULT)
    assert ("mlp.smoke.inference.float32.static.b64", "inductor") in cases
    assert {case.benchmark.split(".")[1] for case in cases} == {"smoke"}
