"""Every benchmark, one line each, in the order in which they are worth measuring. To add one: docs/add-a-model.md.

Stdlib only: the list can be read where no torch is installed. Only ``load`` imports torch and the model's file.
"""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from benchmarks_suite.workload import Workload


@dataclass(frozen=True, slots=True)
class Benchmark:
    """What is fixed while the software under it changes.

    model: name of the file in models/ that builds it; family: the group of models it is shown and alerted with.
    size: smoke (tens of milliseconds a step on one CPU core) or standard (the published shapes, for one GPU).
    mode: inference, training; LLMs also prefill, decode.
    dtype: float32, bfloat16, float16, or autocast_bf16 (float32 weights under torch.autocast).
    shapes: static, dynamic (lengths vary from batch to batch) or bucketed (padded to one of a few lengths).
    item: the unit of throughput.
    default_configs: the configs that a run measures when it is not told which; none: not in the default run.
    version: raise it when a change of the model's file changes what is measured; its series starts a new segment.
    """

    model: str
    family: str
    size: str
    mode: str
    dtype: str
    shapes: str
    batch_size: int
    item: str
    default_configs: tuple[str, ...] = ()
    version: int = 1

    @property
    def name(self) -> str:
        return f"{self.model}.{self.size}.{self.mode}.{self.dtype}.{self.shapes}.b{self.batch_size}"


_ALL = (
    # model, family, size, mode, dtype, shapes, batch_size, item, default_configs
    Benchmark("mlp", "toy", "smoke", "inference", "float32", "static", 64, "samples", ("eager", "inductor")),
    Benchmark("gpt2", "llm", "smoke", "inference", "float32", "static", 2, "tokens", ("eager", "inductor", "inductor_dynamic")),
    Benchmark("mlp", "toy", "smoke", "training", "float32", "static", 64, "samples", ("eager", "inductor", "inductor_reduce_overhead")),
    Benchmark("gpt2", "llm", "smoke", "training", "float32", "static", 2, "tokens", ("eager", "inductor", "regional")),
    Benchmark("gpt2", "llm", "standard", "inference", "bfloat16", "static", 16, "tokens"),
    Benchmark("gpt2", "llm", "standard", "training", "autocast_bf16", "static", 16, "tokens"),
    Benchmark("mlp", "toy", "standard", "inference", "bfloat16", "static", 1024, "samples"),
    Benchmark("mlp", "toy", "standard", "training", "float32", "static", 1024, "samples"),
)

BENCHMARKS: dict[str, Benchmark] = {benchmark.name: benchmark for benchmark in _ALL}


def load(benchmark: Benchmark) -> Workload:
    """Builds the benchmark's model on the CPU, in seconds even for billions of parameters.

    Its random weights are *not* drawn (see ``workload.weights_left_empty``): fill them before use.
    Raises workload.Unsupported where a library, device or version that the model needs is missing.
    """
    from benchmarks_suite.workload import weights_left_empty

    module = importlib.import_module(f"benchmarks_suite.models.{benchmark.model}")
    with weights_left_empty():
        workload: Workload = module.build(benchmark.size, benchmark.mode, benchmark.shapes, benchmark.batch_size)
    return workload
