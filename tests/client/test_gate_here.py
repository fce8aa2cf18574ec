"""The gate on this machine: the real suite in real processes, with a model of one's own."""

import re
import shlex
import sys
from pathlib import Path

import pytest

from compilewatch_client.local import LocalError, Side, Wanted, cases, in_turn
from tests.builders.docker_files import ROOT
from tests.client.conftest import Command

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
ANY = Wanted([], [], [], "smoke")


def written(folder: Path, name: str, steps: int) -> None:
    (folder / f"{name}.py").write_text(MODEL.format(steps=steps))


def test_a_model_that_takes_ten_times_as_long_does_not_pass(
    compilewatch: Command, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the command of docs/gate.md."""
    found = re.search(
        r"compilewatch_client (gate [^`]*before\.py[^`]*)```",
        (ROOT / "docs" / "gate.md").read_text(),
    )
    assert found
    written(tmp_path, "before", 1)
    written(tmp_path, "after", 20)
    monkeypatch.chdir(tmp_path)
    words = shlex.split(found[1].replace("$PYTHON", sys.executable).replace("\\\n", " "))
    done = compilewatch(*words, "--markdown", "answer.md", "--out", "results")
    assert (done.code, done.err.count("Traceback")) == (1, 0)
    assert "slower" in (tmp_path / "answer.md").read_text()
    assert len(list((tmp_path / "results").glob("*/*/result.json"))) == 6


def test_both_sides_come_first_as_often() -> None:
    turns = list(in_turn([("m", "eager"), ("n", "eager")], repeats=2))
    assert [side for _, side in turns] == [
        "base",
        "new",
        "new",
        "base",
        "new",
        "base",
        "base",
        "new",
    ]


def test_an_interpreter_that_cannot_run_the_suite_is_named() -> None:
    with pytest.raises(LocalError, match="/bin/false cannot run the suite"):
        cases(Side("base", "/bin/false"), ANY)


def test_a_model_that_there_is_not_is_told_with_those_there_are() -> None:
    with pytest.raises(LocalError, match=r"Models: .*gpt2"):
        cases(Side("base", sys.executable), Wanted(["gtp2"], [], [], "smoke"))


def test_without_options_the_default_selection_of_the_size_is_measured() -> None:
    found = cases(Side("base", sys.executable), ANY)
    assert ("mlp.smoke.inference.float32.static.b64", "inductor") in found
    assert {name.split(".")[1] for name, _ in found} == {"smoke"}
