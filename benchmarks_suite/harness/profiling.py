"""The profiled pass: what the device does in a step, and how long the host takes to launch it.

A wall clock measures whichever of the two is slower, and on a shared machine the neighbours, too.
The device's own time repeats to a fraction of a percent (docs/measuring.md), so it has a pass of
its own after sampling, with torch.profiler and the device's activities alone. On a CPU the process
is the device: its CPU time, which sampling has, stands for the device's, and the profiler says in
which operators it goes.
"""

import json
import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch.profiler import ProfilerActivity

from benchmarks_suite.harness import kernel_table, kernel_traffic, nvml, ranks, triton_kernels
from benchmarks_suite.harness.arms import Arm
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.timing import Stopwatch
from benchmarks_suite.workload import Inputs

# Of the sampling budget, at most, for one arm; a profile of fewer steps is better than a long one
BUDGET_SHARE = 0.1
# Two processes of RMSNorm's 0.07 ms differed by up to ±0.6% with five steps, by ±0.14% with a
# hundred (docs/measuring.md)
FILLED_MS, MOST_STEPS = 100, 100


class ProfileFailed(Exception):
    """There is no profile of an arm; the text says why."""


def steps_of(batches: Sequence[Inputs], most: int, step_ms: float, budget_s: float) -> int:
    """Choose how many steps to profile, on every rank: whole passes over the batches, about
    ``most``, in the budget's share.
    """
    in_budget = BUDGET_SHARE * budget_s * 1000 / step_ms
    passes = int(ranks.agreed(max(1, math.ceil(min(most, in_budget) / len(batches)))))
    return passes * len(batches)


def enough(requested: int, step_ms: float) -> int:
    """As many steps as are requested, or more where they are short."""
    return max(requested, min(MOST_STEPS, math.ceil(FILLED_MS / step_ms)))


def profile(stopwatch: Stopwatch, arm: Arm, device: torch.device, steps: int) -> Document:
    """The arm's ``profile`` (schema/result.v1.json). Raises ProfileFailed."""
    try:
        if device.type == "cpu":
            with torch.profiler.profile(activities=[ProfilerActivity.CPU]) as profiler:
                stopwatch.time(arm, steps)
            averages: Any = profiler.key_averages()
            operators = [(each.key, each.count, each.self_cpu_time_total) for each in averages]
            return kernel_table.of_operators(operators, steps)
        table = _on_gpu(stopwatch, arm, device, steps)
    # A driver, a container or a release may refuse the profiler: the case is measured all the same
    except Exception as error:
        raise ProfileFailed(f"torch.profiler failed: {type(error).__name__}: {error}") from error
    if table is None:
        raise ProfileFailed("torch.profiler saw no kernel in it")
    return table


def _on_gpu(stopwatch: Stopwatch, arm: Arm, device: torch.device, steps: int) -> Document | None:
    management = nvml.Device.of(device.index)
    clock_mhz = None
    with tempfile.TemporaryDirectory(prefix="compilewatch-") as folder:
        trace = Path(folder) / "trace.json"
        with torch.profiler.profile(activities=[ProfilerActivity.CUDA]) as profiler:
            stopwatch.time(arm, steps)
            if management:
                clock_mhz = management.read().clock_mhz
        profiler.export_chrome_trace(str(trace))
        events = json.loads(trace.read_bytes())["traceEvents"]
    table = kernel_table.of_trace(events, steps, _generated())
    return None if table is None else {**table, "clock_mhz": clock_mhz}


def _generated() -> dict[str, Document]:
    """Collect what is known of this process's Triton kernels, by name."""
    kernels = triton_kernels.generated()
    traffic = kernel_traffic.noted()
    for kernel in kernels.values():
        size = traffic.get(kernel.get("source") or "")
        if size is not None:
            kernel["bytes"] = size
    return kernels
