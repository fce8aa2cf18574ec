"""Small workloads for tests of the harness: a test says only what matters to it."""

from collections.abc import Iterable
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.harness.working_copies import WorkingCopy
from benchmarks_suite.workload import Inputs, Workload

WIDTH, BATCH = 32, 16


def one_model_a_family(benchmarks: Iterable[Benchmark]) -> list[Any]:
    """Parameters of a test: all but the first model of each family are left to `make test-slow`."""
    first: dict[str, str] = {}
    parameters = []
    for benchmark in benchmarks:
        is_first = first.setdefault(benchmark.family, benchmark.model) == benchmark.model
        marks = () if is_first else (pytest.mark.slow,)
        parameters.append(pytest.param(benchmark, id=benchmark.name, marks=marks))
    return parameters


def a_benchmark(
    mode: str = "training", dtype: str = "float32", shapes: str = "static"
) -> Benchmark:
    return Benchmark("tiny", "toy", "smoke", mode, dtype, shapes, BATCH, "samples")


def a_module(depth: int = 4) -> nn.Module:
    layers: list[nn.Module] = []
    for _ in range(depth):
        layers += [
            nn.Linear(WIDTH, WIDTH),
            nn.GELU(),
            nn.LayerNorm(WIDTH),
        ]
    return nn.Sequential(*layers)


class ThreeLayers(nn.Module):
    """Linear layers called one by one.

    After a break inside a loop, or in nn.Sequential, dynamo skips the whole frame.
    """

    def __init__(self) -> None:
        super().__init__()
        self.first = nn.Linear(WIDTH, WIDTH)
        self.second = nn.Linear(WIDTH, WIDTH)
        self.third = nn.Linear(WIDTH, WIDTH)

    def forward(self, x: Tensor) -> Tensor:
        x = self.first(x)
        x = self.second(x)
        x = self.third(x)
        return x


def a_workload(module: nn.Module | None = None, **fields: Any) -> Workload:
    """(BATCH, WIDTH) -> (BATCH, WIDTH); the loss is the mean square distance from the target."""

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "x": torch.randn(BATCH, WIDTH, generator=generator),
            "target": torch.randn(BATCH, WIDTH, generator=generator),
        }

    def loss(output: Tensor, batch: Inputs) -> Tensor:
        return nn.functional.mse_loss(output.float(), batch["target"].float())

    defaults: dict[str, Any] = {
        "inputs": inputs,
        "items": lambda batch: len(batch["x"]),
        "item": "samples",
        "call": lambda module, batch: module(batch["x"]),
        "loss": loss,
        "blocks": (nn.Linear,),
        "axes": {"x": ("batch",), "target": ("batch",)},
    }
    return Workload(module=module or a_module(), **(defaults | fields))


def working_copy(workload: Workload | None = None, **benchmark: str) -> WorkingCopy:
    """A workload on the CPU, filled with seed 0."""
    return WorkingCopy(a_benchmark(**benchmark), workload or a_workload(), "cpu", seed=0)
