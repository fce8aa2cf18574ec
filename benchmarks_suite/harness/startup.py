"""Startup: what users of a server wait for, from a new process's beginning to its first result.

A start as starts.py runs it begins where compiling does, in a process that has already imported.
Startup begins with the interpreter: its imports, the model and its weights, the device's context,
then the first compiled step. ``startup_cold`` finds nothing on the machine, so that the toolchain's
one-time checks are its own; ``startup_warm`` finds the caches that the cold start filled, as a
server does that is started again.
"""

import os
import time
from pathlib import Path

from benchmarks_suite.harness import warm_imports
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job

KINDS = ("startup_cold", "startup_warm")


def measure(job: Job) -> Document:
    """The answer without status: seconds since the process began, at the end of each part."""
    warm_imports.import_torch(job.config.backend)
    warm_imports.import_model(job.benchmark.module)
    import torch

    from benchmarks_suite import loading
    from benchmarks_suite.harness import compiling, torch_versions
    from benchmarks_suite.harness.timing import Stopwatch
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

    settle_process(job)
    torch_versions.start_compile_workers()
    imported_s = _seconds_since_begin()
    workload = loading.load(job.benchmark)
    working_copy = WorkingCopy(job.benchmark, workload, job.device, job.measure.seed)
    torch_versions.set_options("inductor", job.inductor)
    arm = compiling.compiled_arm(working_copy, job.config)
    stopwatch = Stopwatch(torch.device(job.device), working_copy.batches)
    built_s = _seconds_since_begin()
    stopwatch.time(arm, 1)
    return {"imported_s": imported_s, "built_s": built_s, "first_result_s": _seconds_since_begin()}


def _seconds_since_begin() -> float:
    """Compute the age of this process. The kernel counts in ticks of 10 ms."""
    fields = Path("/proc/self/stat").read_text().rpartition(")")[2].split()
    begin_ticks = int(fields[19])  # starttime, since the machine's boot: proc(5)
    return time.clock_gettime(time.CLOCK_BOOTTIME) - begin_ticks / os.sysconf("SC_CLK_TCK")
