"""Counts that the compiler itself keeps, apart from time: the same on a busy machine.

A count that this release does not have is None, never 0. Tried: 2.13.

| count             | from                                             |
|-------------------|--------------------------------------------------|
| guards            | CompilationMetrics.guard_count (readable: 2.3)   |
| captured_ops      | CompilationMetrics.graph_op_count (the same)     |
| ir_nodes          | torch._inductor.metrics.ir_nodes_pre_fusion      |
| generated_kernels | torch._inductor.metrics.generated_kernel_count   |
| cudagraph_skips   | counters["inductor"]["cudagraph_skips"]          |
| fusions           | calls of ``fuse`` of Inductor's schedulings      |
| eager_fallbacks   | calls of the constructor of FallbackKernel       |

The last two are counted by the counted start alone, and need Python 3.11, which knows the qualified
name of a function.
"""

import sys
from collections import Counter
from collections.abc import Mapping
from typing import Any

from benchmarks_suite.harness import torch_versions
from benchmarks_suite.harness.portable_text import portable

_INDUCTOR = "torch._inductor.metrics"  # a module that is imported where Inductor compiles

Counts = dict[str, int | None]


def counts(counters: Mapping[str, float]) -> Counts:
    """Everything but what the counted start counts; counters: torch_versions.counters()."""
    skips = int(counters.get("inductor.cudagraph_skips", 0))
    return {
        "guards": _sum_of("guard_count"),
        "captured_ops": _sum_of("graph_op_count"),
        "ir_nodes": _of_inductor("ir_nodes_pre_fusion"),
        "generated_kernels": _of_inductor("generated_kernel_count"),
        "cudagraph_skips": skips if _INDUCTOR in sys.modules else None,
    }


def cudagraph_skip_reasons() -> list[str]:
    """List the reasons why Inductor did not record CUDA graphs, each once.

    Where the entries have no such field, the reasons are among the performance hints.
    """
    reasons = []
    for entry in torch_versions.compilations() or []:
        reason = getattr(entry, "cudagraph_skip_reason", None)
        if reason:
            reasons.append(portable(str(reason))[:2000])
    return list(dict.fromkeys(reasons))[:100]


def of_calls(calls: Counter[str]) -> Counts:
    """Derive counts from a compilation's calls; by function, as call_counts.function_name does."""
    fusions = fallbacks = None
    if _has("torch._inductor.scheduler", "BaseScheduling", "fuse"):
        fusions = sum(
            calls_of_it for name, calls_of_it in calls.items() if name.endswith("Scheduling.fuse")
        )
    if _has("torch._inductor.ir", "FallbackKernel", "__init__"):
        fallbacks = calls["torch/_inductor/ir.py:FallbackKernel.__init__"]
    return {"fusions": fusions, "eager_fallbacks": fallbacks}


def _sum_of(field: str) -> int | None:
    """A field of all compilations' entries; None where no entry has it."""
    values = []
    for entry in torch_versions.compilations() or []:
        value = getattr(entry, field, None)
        if value is not None:
            values.append(int(value))
    return sum(values) if values else None


def _of_inductor(name: str) -> int | None:
    """One of Inductor's metrics; None where it compiled nothing, or has no such metric."""
    metrics = sys.modules.get(_INDUCTOR)
    value: int | None = getattr(metrics, name, None)
    return value


def _has(module: str, owner: str, function: str) -> bool:
    """Test whether the release has this function, and Python its qualified name."""
    owning_class: Any = getattr(sys.modules.get(module), owner, None)
    code = getattr(getattr(owning_class, function, None), "__code__", None)
    return hasattr(code, "co_qualname")
