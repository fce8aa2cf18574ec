"""The gate on this machine: the real suite in real processes, with an own model."""

import re
import shlex
import sys
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
from tests.client.conftest import RunCommand

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
    assert (result.code, result.err.count("Traceback")) == (1, 0)
    assert "slower" in (tmp_path / "answer.md").read_text()
    assert len(list((tmp_path / "results").glob("*/*/result.json"))) == 6


def test_both_sides_come_first_equally_often() -> None:
    cases = [LocalCase("m", "eager"), LocalCase("n", "eager")]
    sides = [side for _, side in interleave(cases, repeats=2)]
    assert sides == ["base", "new", "new", "base", "new", "base", "base", "new"]


def test_interpreter_that_cannot_run_the_suite_is_named() -> None:
    with pytest.raises(LocalError, match="/bin/false cannot run the suite"):
        select_cases(LocalSide("base", "/bin/false"), DEFAULT)


def test_unknown_model_is_refused_with_a_list_of_models() -> None:
    with pytest.raises(LocalError, match=r"Models: .*gpt2"):
        select_cases(LocalSide("base", sys.executable), LocalSelection(["gtp2"], [], [], "smoke"))


def test_without_options_the_default_selection_of_the_size_is_measured() -> None:
    cases = select_cases(LocalSide("base", sys.executable), DEFAULT)
    assert ("mlp.smoke.inference.float32.static.b64", "inductor") in cases
    assert {case.benchmark.split(".")[1] for case in cases} == {"smoke"}
