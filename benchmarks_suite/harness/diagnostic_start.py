"""The diagnostic start: a cold one of which the compiler's own records are kept.

It is for whoever has to find out why a compilation differs, and nobody reads its time: writing the
records is part of it. So that nothing of it is in what the job measures, it comes after everything
else (measure.py), in a fresh process with fresh caches, and has half of the job's time limit for
itself. The structured trace goes where ``TORCH_TRACE`` says when torch is imported, what
``TORCH_LOGS`` would turn on to the standard error, which is a file: records.py keeps both, also of
a start that failed or never ended.
"""

import inspect
import logging
from collections.abc import Callable
from typing import Any

from benchmarks_suite.harness import warm_imports
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job

KIND = "diagnostic"
WHY_FRESH = "torch reads where its trace goes when it is imported"
NOTHING_COMPILED = "nothing was compiled before the start ended"
# What upstream asks for; those that this release lacks are left out
LOGS = ("dynamo", "aot", "inductor")  # at DEBUG
ARTIFACTS = (
    "graph_breaks",
    "recompiles",
    "guards",
    "graph_sizes",
    "perf_hints",
    "fusion",
    "schedule",
    "cudagraphs",
    "autotuning",
)


def measure(job: Job) -> Document:
    """The answer without status. Every batch comes twice: each recompilation has happened then.

    no_trace: why there would be no trace, should there be none.
    """
    warm_imports.import_torch(job.config.backend)
    warm_imports.import_model(job.benchmark.module)

    import torch

    from benchmarks_suite import loading
    from benchmarks_suite.harness import compiling, torch_versions
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

    logs = turn_on_logs(torch._logging.set_logs)  # type: ignore[attr-defined]  # it is public
    settle_process(job)
    workload = loading.load(job.benchmark)
    working_copy = WorkingCopy(job.benchmark, workload, job.device, job.measure.seed)
    torch_versions.set_options("inductor", job.inductor)
    arm = compiling.compiled_arm(working_copy, job.config)
    for batch in [*working_copy.batches, *working_copy.batches]:
        arm.step(batch)
    return {"logs": logs, "no_trace": why_no_trace(torch._logging)}


def why_no_trace(torch_logging: object) -> str:
    """Explain why there is no trace, where there is none."""
    if hasattr(torch_logging, "trace_structured"):
        return NOTHING_COMPILED
    return "this torch writes no structured trace; 2.3 and newer do"


def turn_on_logs(set_logs: Callable[..., None]) -> list[str]:
    """Does what TORCH_LOGS does; returns those that this torch has.

    Where the variable is set already, by a variant say, torch keeps to that.
    """
    settings: dict[str, Any] = dict.fromkeys(LOGS, logging.DEBUG) | dict.fromkeys(ARTIFACTS, True)
    accepted = inspect.signature(set_logs).parameters
    settings = {name: value for name, value in settings.items() if name in accepted}
    set_logs(**settings)
    return list(settings)
