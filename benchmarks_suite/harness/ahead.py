"""Compiling ahead: a case is compiled in a process of its own, beside others, and its caches are
kept for its job.

While a case is compiled the GPU waits, and most of a compilation keeps one core busy. So a batch
may compile the cases of its list beforehand, several at a time (commands/ahead.py). A job that asks
for no start then begins on what that left in FOLDER, which the variable COMPILEWATCH_AHEAD names.

Beside other work no time means anything: none becomes a metric, and what Inductor chose by timing
(how a kernel is launched) is forgotten, so that the job, which has the device to itself, chooses.
What does not depend on who runs beside is kept: graphs, breaks, recompiles, generated code, the
memory of the compiled arm.

A case with dropout compiles twice, once for the arm that is timed and once for the one whose
accuracy is checked: in two processes, each with caches of its own, which ``gather`` makes one.
Their entries do not know their folder, which torch.compiler.load_cache_artifacts relies on, too.

    python -m benchmarks_suite.harness.ahead JOB_FILE FOLDER timed|checked
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, forks, outcome, preload, result, start
from benchmarks_suite.harness import job as jobs

SWITCH = "COMPILEWATCH_AHEAD"
TIMED, CHECKED = "timed", "checked"  # the arms, and the folders of their caches
_ANSWER = "answer.json"
_CHOSEN_BY_TIMING = "*.best_config"  # of torch._inductor.runtime.autotune_cache


def place(job: jobs.Job, folder: Path) -> Path:
    """Where the case's caches are in ``folder``: for this torch build and device, with this
    variant.
    """
    build = caches.place(job.device, os.environ | job.env, preload.wrapper(job)).folder.name
    variant = json.dumps([job.document["variant"], job.measure.seed], sort_keys=True)
    digest = hashlib.sha256(variant.encode()).hexdigest()[:12]
    return folder / build / f"{job.benchmark.name}-{job.config.name}-{digest}"


def found(job: jobs.Job) -> tuple[caches.CompilerCaches, dict[str, Any]] | None:
    """The caches of this job's case, and what start.py answered when they were filled; None where
    there are none, and for a job that measures starts: a cold one must be cold.
    """
    named = os.environ.get(SWITCH)
    if not named or job.measure.starts or not preload.needs_toolchain(job):
        return None
    folder = place(job, Path(named)) / TIMED
    if status(folder) != "pass":
        return None
    return caches.CompilerCaches(folder), json.loads((folder / _ANSWER).read_text())


def arms(job: jobs.Job) -> tuple[str, ...]:
    """What there may be to compile: dropout is for training alone."""
    return (TIMED, CHECKED) if job.benchmark.mode == "training" else (TIMED,)


def fill(job: jobs.Job, folder: Path, arm: str) -> None:
    """Compiles one arm of the case with caches that are kept in ``folder``; of the timed one with
    the steps of a start. Whatever goes wrong is in the answer, and the job will compile by itself.
    """
    preload.set_variables(job)
    base = caches.base(job.device, preload.wrapper(job))
    os.environ.update(base.copied_to(folder).environment)
    if arm == CHECKED:
        (folder / _ANSWER).write_text(json.dumps(_without_dropout(job)))
        return
    spec = folder / "spec.json"
    spec.write_text(
        json.dumps(
            {"job": job.document, "artifacts_in": None, "artifacts_out": None, "code_out": None}
        )
    )
    start.answer(spec, folder / _ANSWER)


def status(folder: Path) -> str | None:
    """How compiling the arm in ``folder`` ended; None where it did not come to an end."""
    answer = folder / _ANSWER
    return str(json.loads(answer.read_text())["status"]) if answer.exists() else None


def gather(folder: Path) -> None:
    """Makes the caches of both arms of a case one, and removes from them what was chosen by
    timing.
    """
    for name in ("inductor", "triton"):
        if (folder / CHECKED / name).exists():
            shutil.copytree(folder / CHECKED / name, folder / TIMED / name, dirs_exist_ok=True)
            shutil.rmtree(folder / CHECKED / name)
    for chosen in folder.rglob(_CHOSEN_BY_TIMING):
        chosen.unlink()


def _without_dropout(job: jobs.Job) -> dict[str, Any]:
    try:
        _compile_without_dropout(job)
    except Exception as error:
        return {**vars(outcome.of(error, "compile")), "error": result.described(error)}
    return {"status": "pass"}


def _compile_without_dropout(job: jobs.Job) -> None:
    preload.import_torch(job.config.backend)
    preload.import_model(job.benchmark.module)
    from benchmarks_suite import loading
    from benchmarks_suite.harness import accuracy, compiling, torch_versions
    from benchmarks_suite.harness.prepared import Prepared, settle_process

    settle_process(job)
    prepared = Prepared(job.benchmark, loading.load(job.benchmark), job.device, job.measure.seed)
    if prepared.has_dropout:
        torch_versions.set_options("inductor", job.inductor)
        arm = compiling.compiled_arm(prepared, job.config, dropout=False)
        accuracy.observe(prepared, arm, prepared.batches, job.measure.loss_steps)


if __name__ == "__main__":
    forks.end_with_parent(os.getppid())  # what nobody waits for would run beside the measurement
    fill(jobs.read(Path(sys.argv[1])), Path(sys.argv[2]).absolute(), sys.argv[3])
    forks.end_at_once()
