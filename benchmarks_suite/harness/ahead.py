"""Compiling ahead: a case is compiled in a process of its own, beside others, and its caches are kept for its job.

While a case is compiled the GPU waits, and most of a compilation keeps one core busy. So a batch may compile the cases
of its list beforehand, several at a time (commands/ahead.py). A job that asks for no start then begins on what that
left in FOLDER, which the variable COMPILEWATCH_AHEAD names.

Beside other work no time means anything: none becomes a metric, and what Inductor chose by timing (how a kernel is
launched) is forgotten, so that the job, which has the device to itself, chooses. What does not depend on who runs
beside is kept: graphs, breaks, recompiles, generated code, the memory of the compiled arm.

    python -m benchmarks_suite.harness.ahead JOB_FILE FOLDER
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, forks, preload, start
from benchmarks_suite.harness import job as jobs

SWITCH = "COMPILEWATCH_AHEAD"
_ANSWER = "answer.json"
_CHOSEN_BY_TIMING = "*.best_config"  # of torch._inductor.runtime.autotune_cache


def place(job: jobs.Job, folder: Path) -> Path:
    """Where the case's caches are in ``folder``: for this torch build and device, with this variant."""
    build = caches.place(job.device, os.environ | job.env, preload.wrapper(job)).folder.name
    variant = json.dumps([job.document["variant"], job.measure.seed], sort_keys=True)
    digest = hashlib.sha256(variant.encode()).hexdigest()[:12]
    return folder / build / f"{job.benchmark.name}-{job.config.name}-{digest}"


def found(job: jobs.Job) -> tuple[caches.CompilerCaches, dict[str, Any]] | None:
    """The caches of this job's case, and what start.py answered when they were filled; None where there are none, and
    for a job that measures starts: a cold one must be cold.
    """
    named = os.environ.get(SWITCH)
    if not named or job.measure.starts or not preload.needs_toolchain(job):
        return None
    folder = place(job, Path(named))
    answer = json.loads((folder / _ANSWER).read_text()) if (folder / _ANSWER).exists() else {}
    return (caches.CompilerCaches(folder), answer) if answer.get("status") == "pass" else None


def fill(job: jobs.Job, folder: Path) -> None:
    """Compiles the case with caches that are kept in ``folder``: the steps of a start, then the arm whose accuracy is
    checked, where that is another one. Whatever goes wrong is in the answer, and the job will compile by itself.
    """
    preload.set_variables(job)
    base = caches.base(job.device, preload.wrapper(job))
    os.environ.update(base.copied_to(folder).environment)
    spec, answer = folder / "spec.json", folder / _ANSWER
    spec.write_text(json.dumps({"job": job.document, "artifacts_in": None, "artifacts_out": None, "code_out": None}))
    start.answer(spec, answer)
    if json.loads(answer.read_text())["status"] == "pass":
        _without_dropout(job)


def forget_choices(folder: Path) -> None:
    """Removes from caches that ``fill`` has filled what was chosen by timing."""
    for chosen in folder.rglob(_CHOSEN_BY_TIMING):
        chosen.unlink()


def _without_dropout(job: jobs.Job) -> None:
    from benchmarks_suite import registry
    from benchmarks_suite.harness import accuracy, compiling
    from benchmarks_suite.harness.prepared import Prepared

    prepared = Prepared(job.benchmark, registry.load(job.benchmark), job.device, job.measure.seed)
    if prepared.has_dropout:
        arm = compiling.compiled_arm(prepared, job.config, dropout=False)
        accuracy.observe(prepared, arm, prepared.batches, job.measure.loss_steps)


if __name__ == "__main__":
    forks.end_with_parent(os.getppid())  # what nobody waits for would run beside the measurement
    fill(jobs.read(Path(sys.argv[1])), Path(sys.argv[2]).absolute())
    forks.end_at_once()
