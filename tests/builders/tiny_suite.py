"""The suite with small benchmarks that misbehave: `python -m tests.builders.tiny_suite run …`.

Each is a real line of the registry with a real workload; only the code that would build it is here.
"""

import sys
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor, nn

from benchmarks_suite import loading, registry
from benchmarks_suite.__main__ import main
from benchmarks_suite.benchmark import Benchmark
from benchmarks_suite.workload import Unsupported, Workload
from tests.builders.workloads import WIDTH, a_module, a_workload


class ChangedLinear(nn.Module):
    """A linear layer, then `change` of its output."""

    def __init__(self, change: Callable[[Tensor], Any]) -> None:
        super().__init__()
        self.linear = nn.Linear(WIDTH, WIDTH)
        self._change = change

    def forward(self, x: Tensor) -> Any:
        return self._change(self.linear(x))


class Heavy(ChangedLinear):
    """Many weights (40 MB), and a step that takes next to no memory."""

    def __init__(self) -> None:
        super().__init__(lambda x: x)
        self.weight = nn.Parameter(torch.empty(10_000, 1_000))


def _raises(x: Tensor) -> Tensor:
    raise ValueError("the head count does not divide the width")


def _oom_in_eager(x: Tensor) -> Tensor:
    return x if torch.compiler.is_compiling() else x + torch.empty(10**14)[0]


def _coarse_without_eager(x: Tensor) -> Tensor:
    return _oom_in_eager(x).to(torch.bfloat16).to(x.dtype) if x.dtype == torch.float32 else x


def _oom_in_float64(x: Tensor) -> Tensor:
    return x + torch.empty(10**14)[0] if x.dtype == torch.float64 else x


def _oom_when_compiled(x: Tensor) -> Tensor:
    return x + torch.empty(10**14)[0] if torch.compiler.is_compiling() else x


def _nan_when_compiled(x: Tensor) -> Tensor:
    return x * float("nan") if torch.compiler.is_compiling() else x


def _wrong_when_compiled(x: Tensor) -> Tensor:
    return x * 1.01 if torch.compiler.is_compiling() else x


def _second_wrong_when_compiled(x: Tensor) -> Any:
    return x, x.sum(-1) * (1.5 if torch.compiler.is_compiling() else 1)


def _broken_graph(x: Tensor) -> Tensor:
    torch._dynamo.graph_break()
    return x + 1


_LEAKED: list[Tensor] = []


def _leaks(x: Tensor) -> Tensor:
    _LEAKED.append(x.new_ones(4_000))  # 16 kB
    return x


_BUILT_WITH: list[Tensor] = []


def _gives_back(x: Tensor) -> Tensor:
    _BUILT_WITH.clear()
    return x


def _shrinks() -> Workload:
    _BUILT_WITH.append(torch.ones(20_000_000))  # 80 MB
    return a_workload(ChangedLinear(_gives_back))


def _unsupported() -> Workload:
    raise Unsupported("torchquux is not installed: pip install torchquux")


WORKLOADS: dict[str, Callable[[], Workload]] = {
    "fine": lambda: a_workload(a_module(2)),
    "heavy": lambda: a_workload(Heavy()),
    "heavy_wrapped": lambda: replace(a_workload(Heavy()), wrap=lambda module: module),
    "raises": lambda: a_workload(ChangedLinear(_raises)),
    "random": lambda: a_workload(ChangedLinear(lambda x: x + torch.randn_like(x))),
    "nan": lambda: a_workload(ChangedLinear(lambda x: x * float("nan"))),
    "oom_in_eager": lambda: a_workload(ChangedLinear(_oom_in_eager)),
    "coarse_without_eager": lambda: a_workload(ChangedLinear(_coarse_without_eager)),
    "oom_in_float64": lambda: a_workload(ChangedLinear(_oom_in_float64)),
    "oom_when_compiled": lambda: a_workload(ChangedLinear(_oom_when_compiled)),
    "nan_when_compiled": lambda: a_workload(ChangedLinear(_nan_when_compiled)),
    "wrong_when_compiled": lambda: a_workload(ChangedLinear(_wrong_when_compiled)),
    "second_wrong_when_compiled": lambda: a_workload(ChangedLinear(_second_wrong_when_compiled)),
    "shrinks": _shrinks,
    "leaks": lambda: a_workload(ChangedLinear(_leaks)),
    "broken_graph": lambda: a_workload(ChangedLinear(_broken_graph)),
    "unsupported": _unsupported,
}


def name_of(model: str, mode: str = "inference") -> str:
    return _benchmark(model, mode).name


def _benchmark(model: str, mode: str) -> Benchmark:
    return Benchmark(model, "toy", "smoke", mode, "float32", "static", 16, "samples")


def _register() -> None:
    real_load = loading.load

    def load(benchmark: Benchmark) -> Any:
        if benchmark.model not in WORKLOADS:
            return real_load(benchmark)
        return WORKLOADS[benchmark.model]()

    loading.load = load
    for model in WORKLOADS:
        for mode in ("inference", "training"):
            registry.BENCHMARKS[name_of(model, mode)] = _benchmark(model, mode)


if __name__ == "__main__":
    _register()
    sys.exit(main(sys.argv[1:]))
