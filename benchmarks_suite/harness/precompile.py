"""Precompiling: a case is compiled in a process of its own before its job, next to others.

While a case is compiled the GPU waits, and most of a compilation keeps one core busy. So a batch
may compile the cases of its list beforehand, several at a time (``batch --ahead N``). A job that
requests no start then begins on what that left in FOLDER, which the variable COMPILEWATCH_AHEAD
names.

Next to other work no time means anything: none becomes a metric, and what Inductor chose by timing
(how a kernel is launched) is forgotten, so that the job, which has the device to itself, chooses.
So is what an earlier job of the case chose: two processes that share a choice would be more alike
than two of a user. What does not depend on what else runs is kept: graphs, breaks, recompiles,
generated code (its files, too, where the job keeps code), the memory of the compiled arm. One
choice by timing is part of that code, and so is kept: whether a matmul is padded (pad_mm).

A case with dropout compiles twice, once for the arm that is timed and once for the one whose
accuracy is checked: in two processes, each with caches of its own, which ``gather`` merges. Their
entries do not know their folder, which torch.compiler.load_cache_artifacts relies on, too.

    python -m benchmarks_suite.harness.precompile JOB_FILE FOLDER timed|checked
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import sys
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, forks, generated_code, start, warm_imports
from benchmarks_suite.harness import job as jobs

SWITCH = "COMPILEWATCH_AHEAD"
TIMED, CHECKED = "timed", "checked"  # the arms, and the folders of their caches
_ANSWER = "answer.json"
_CHOSEN_BY_TIMING = "*.best_config"  # of torch._inductor.runtime.autotune_cache


def place(job: jobs.Job, folder: Path) -> Path:
    """Locate the case's caches in ``folder``: for this torch build, device and variant."""
    build = caches.place(job.device, os.environ | job.env, warm_imports.wrapper(job)).folder.name
    variant = json.dumps([job.document["variant"], job.measure.seed], sort_keys=True)
    digest = hashlib.sha256(variant.encode()).hexdigest()[:12]
    return folder / build / f"{job.benchmark.name}-{job.config.name}-{digest}"


def load(job: jobs.Job) -> tuple[caches.CompilerCaches, dict[str, Any]] | None:
    """The caches of this job's case, and what start.py answered when they were filled.

    None where there are none, and for a job that measures starts: a cold one must be cold.
    """
    parent = os.environ.get(SWITCH)
    if not parent or job.measure.starts or not warm_imports.needs_toolchain(job):
        return None
    folder = place(job, Path(parent)) / TIMED
    if status(folder) != "pass":
        return None
    for chosen in folder.rglob(_CHOSEN_BY_TIMING):
        chosen.unlink()
    return caches.CompilerCaches(folder), json.loads((folder / _ANSWER).read_text())


def arms(job: jobs.Job) -> tuple[str, ...]:
    """List the arms that there may be to compile: dropout is for training alone."""
    return (TIMED, CHECKED) if job.benchmark.mode == "training" else (TIMED,)


def fill(job: jobs.Job, folder: Path, arm: str) -> None:
    """Compiles one arm of the case with caches in ``folder``; the timed one as a start does.

    Whatever goes wrong is in the answer, and the job will compile by itself.
    """
    warm_imports.set_variables(job)
    base = caches.base(job.device, warm_imports.wrapper(job))
    os.environ.update(base.copied_to(folder).environment)
    if arm == CHECKED:
        answer: dict[str, Any] = {"status": "pass"}
        try:
            _compile_without_dropout(job)
        except Exception as error:
            answer = start.failed(error)
        (folder / _ANSWER).write_text(json.dumps(answer))
        return
    spec: dict[str, Any] = {"job": job.document}
    if job.measure.keep_code:
        spec["code_out"] = str(folder / generated_code.ARTIFACT)
    (folder / "spec.json").write_text(json.dumps(spec))
    start.answer(folder / "spec.json", folder / _ANSWER)


def copy_code(filled: caches.CompilerCaches, artifacts: Path) -> None:
    """Gives the job the code that was generated while these caches were filled."""
    code = filled.folder / generated_code.ARTIFACT
    if code.exists():  # not where the case was compiled for a job that keeps none
        artifacts.mkdir(parents=True, exist_ok=True)
        shutil.copy(code, artifacts)


def status(folder: Path) -> str | None:
    """Read how compiling the arm in ``folder`` ended; None where it did not come to an end."""
    answer = folder / _ANSWER
    if not answer.exists():
        return None
    return str(json.loads(answer.read_text())["status"])


def gather(folder: Path) -> None:
    """Merges the caches of both arms of a case."""
    for name in ("inductor", "triton"):
        checked = folder / CHECKED / name
        if checked.exists():
            shutil.copytree(checked, folder / TIMED / name, dirs_exist_ok=True)
            shutil.rmtree(checked)


def _compile_without_dropout(job: jobs.Job) -> None:
    warm_imports.import_torch(job.config.backend)
    warm_imports.import_model(job.benchmark.module)
    from benchmarks_suite import loading
    from benchmarks_suite.harness import compiling, observing, torch_versions
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

    settle_process(job)
    workload = loading.load(job.benchmark)
    working_copy = WorkingCopy(job.benchmark, workload, job.device, job.measure.seed)
    if working_copy.has_dropout:
        torch_versions.set_options("inductor", job.inductor)
        arm = compiling.compiled_arm(working_copy, job.config, dropout=False)
        observing.observe(working_copy, arm, working_copy.batches, job.measure.loss_steps)


if __name__ == "__main__":
    forks.end_with_parent(os.getppid())  # what nobody waits for would run during a measurement
    fill(jobs.read(Path(sys.argv[1])), Path(sys.argv[2]).resolve(), sys.argv[3])
    forks.end_at_once()
