"""docs/add-a-model.md works as it is written: its file and its lines are taken from it and run."""

import re
from pathlib import Path

import pytest
import torch

from benchmarks_suite import models
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness.generator import fill_weights
from benchmarks_suite.loading import load

PAGE = (Path(__file__).parents[2] / "docs" / "add-a-model.md").read_text()
FILE, LINES = re.findall(r"```(?:python|text)\n(.*?)```", PAGE, re.DOTALL)


@pytest.fixture
def added(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Benchmark]:
    """The page's file in a folder of models of its own, and the page's lines."""
    (tmp_path / "forecaster.py").write_text(FILE)
    monkeypatch.setattr(models, "__path__", [*models.__path__, str(tmp_path)])
    benchmarks: list[Benchmark] = eval(f"[{LINES}]", {"Benchmark": Benchmark})
    return benchmarks


def test_model_of_the_page_runs_a_forward_pass(added: list[Benchmark]) -> None:
    workload = load(added[0])
    fill_weights(workload.module, seed=0)
    batch = workload.inputs(0, torch.Generator())
    output = workload.output(workload.call(workload.module, batch))
    assert output.shape == (8, 16)
    assert output.abs().sum() > 0


def test_model_of_the_page_trains(added: list[Benchmark]) -> None:
    workload = load(added[1])
    fill_weights(workload.module, seed=0)
    batch = workload.inputs(0, torch.Generator())
    assert workload.loss is not None
    workload.loss(workload.call(workload.module, batch), batch).backward()
    assert all(parameter.grad is not None for parameter in workload.module.parameters())
