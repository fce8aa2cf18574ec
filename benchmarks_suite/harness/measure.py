"""The order of one job. Read this first.

 1. job: threads and the variant's environment variables are set, before torch is imported.
 2. import: torch, the compiler and the model's libraries. The device stays untouched, nothing is
    drawn or compiled.
 3. starts: cold, then warm and restored where requested, each in a process of its own (start.py)
    that is forked from this one (forks.py), with private compiler caches. They say what compiling
    costs, what the compiler did, and what memory the compiled arm needs by itself.
 4. build: the model, its weights and batches from our own generator, on the device.
 5. eager: its peak memory, alone in the process; then twice from the restored state: is it
    deterministic?
 6. reference: the same in float64.
 7. compile: the first step of the compiled arm, on the caches that the cold start left, or those
    of precompile.py.
 8. accuracy: drift of the compiled arm from the reference, next to eager's own.
 9. sampling: warm-up, then both arms interleaved until the speedup is known well enough; then
    single steps for percentiles. Not where accuracy alone was asked for, nor in a walk through
    shapes, which the cold start has done.
10. profile: how long launching a step takes, and one profiled pass of each arm; then what calling
    the compiled code costs, and which operators run outside of its graphs.
11. soak, where it was asked for: does memory grow over some hundred steps?
12. What follows from several stages: the compression ratio, the reason for each metric that is
    absent. The file itself is written in one step, by commands/run.py.

Before that, where it was asked for, the diagnostic start (diagnostic_start.py): last, so that
nothing of it is in what was measured.

A missing eager arm (it runs out of memory where the compiled one does not) is a status of that arm.
A case that fails to compile or drifts is run again with one stage of the compiler more each time
(ablation.py), which names the stage. A distributed case imports and runs steps 4 to 11 on all ranks
(ranks.py).
"""

import json
import os
import subprocess
import tempfile
import time
from pathlib import Path

from benchmarks_suite.harness import (
    ablation,
    caches,
    diagnostic_start,
    environment,
    outcome,
    precompile,
    ranks,
    records,
    report,
    report_compiler,
    start,
    starts,
    warm_imports,
)
from benchmarks_suite.harness.contract import Document
from benchmarks_suite.harness.job import Job
from benchmarks_suite.harness.progress import announce
from benchmarks_suite.harness.result import Result

Answers = dict[str, Document]


class StartFailed(Exception):
    """A start did not get to its end; its own answer says why."""

    def __init__(self, answer: Document) -> None:
        super().__init__(answer["message"])
        self.answer = answer


def measure(job: Job, artifacts: Path | None) -> Result:
    """Measures one job in this process and its children.

    Whatever a case can do wrong is a status, never an exception.
    artifacts: folder for the generated code; None: it is not kept.
    """
    result = Result(job)
    ends_at = time.monotonic() + job.timeout_s - starts.TIME_TO_WRITE_S
    diagnoses = diagnostic_start.KIND in job.measure.starts and job.config.compiles
    deadline = ends_at - job.timeout_s / 2 if diagnoses else ends_at
    if not job.measure.keep_code:
        artifacts = None
    with tempfile.TemporaryDirectory(prefix="compilewatch-", ignore_cleanup_errors=True) as name:
        folder = Path(name)
        try:
            _measure(job, result, folder, artifacts, deadline)
        except Exception as error:
            fail(result, error)
        if job.measure.starts:
            ablation.run(job, result, folder, deadline)
        if diagnoses:
            _diagnose(job, result, folder, artifacts, ends_at)
    result.environment = result.environment or environment.describe(job)
    report.conclude(job, result)
    return result


def _measure(
    job: Job, result: Result, folder: Path, artifacts: Path | None, deadline: float
) -> None:
    with result.in_stage("job"):
        warm_imports.set_variables(job)
    if not ranks.spans_processes(job):
        with result.in_stage("import"):
            warm_imports.import_torch(warm_imports.compiler(job))
            warm_imports.import_model(job.benchmark.module)

    answers: Answers = {}
    with result.in_stage("starts"):
        if job.config.compiles:
            answers = _run_starts(job, result, folder, artifacts, deadline)
    cold = answers.get("cold", {"status": "pass"})
    if cold["status"] == "timeout":  # there is no time left to find out whether eager would run
        result.stage = "compile"
        raise StartFailed(cold)

    if ranks.spans_processes(job):
        _compare_on_all_ranks(job, result, folder, cold)
    else:
        compare(job, result, cold)


def compare(job: Job, result: Result, cold: Document) -> None:
    """Stages 4 to 11, in this process. cold: the answer of the cold start.

    Where that did not get to its end, eager runs first, so that a failure is known to be the
    compiler's.
    """
    with result.in_stage("import"):
        from benchmarks_suite.harness.comparison import Comparison

        comparison = Comparison(job, result)
        result.environment = environment.describe(job)
    with result.in_stage("build"):
        comparison.build()
    with result.in_stage("eager"):
        comparison.run_eager()
    if cold["status"] != "pass":
        result.stage = "compile"
        raise StartFailed(cold)
    if job.config.compares:
        with result.in_stage("reference"):
            comparison.run_reference()
        with result.in_stage("compile"):
            comparison.compile()
        with result.in_stage("accuracy"):
            comparison.check_accuracy()
    if not (job.measure.accuracy_only or job.config.sweep):
        with result.in_stage("sampling"):
            comparison.sample()
        with result.in_stage("profile"):
            comparison.profile()
    if job.measure.soak_steps:
        with result.in_stage("soak"):
            comparison.soak()


def fail(result: Result, error: Exception) -> None:
    """Gives the result the status that ``error`` means."""
    if isinstance(error, StartFailed):
        result.failed(outcome.CaseOutcome(error.answer["status"], error.answer["message"]))
        result.error = error.answer.get("error")
    else:
        result.failed(outcome.of(error, result.stage), error)


def _compare_on_all_ranks(job: Job, result: Result, folder: Path, cold: Document) -> None:
    """The same under torchrun; rank 0's findings become the result's."""
    spec_file, answer_file = folder / "comparison.spec.json", folder / "comparison.answer.json"
    spec = {"job": job.document, "cold": cold, "found": result.contents()}
    spec_file.write_text(json.dumps(spec))
    command = ranks.command(job, "benchmarks_suite.harness.rank", str(spec_file), str(answer_file))
    ended = subprocess.run(command, env=caches.child_environment(), cwd=folder, check=False)
    if not answer_file.exists():
        message = f"torchrun ended with exit code {ended.returncode} and no answer"
        raise StartFailed({"status": "crashed", "message": message})
    result.merge(json.loads(answer_file.read_text()))


def _run_starts(
    job: Job, result: Result, folder: Path, artifacts: Path | None, deadline: float
) -> Answers:
    """The starts that the job requests, in the order in which each has what it needs.

    From then on this process uses the caches that they leave, or those of a case that was compiled
    before it (precompile.py).
    """
    precompiled = precompile.load(job)
    if precompiled is not None:
        filled_caches, answer = precompiled
        os.environ.update(filled_caches.environment)
        if artifacts:
            precompile.copy_code(filled_caches, artifacts)
        report.start(result, "ahead", answer)
        return {}

    processes = starts.Starts(job, folder, artifacts, deadline)
    if processes.base:
        result.measured("toolchain_s", processes.base.toolchain_s)
    os.environ.update(processes.cold_caches.environment)

    answers: Answers = {}
    for kind in starts.in_order(job.measure.starts):
        answers[kind] = processes.run(kind)
        report.start(result, kind, answers[kind])
        if kind == "warm":
            report_compiler.warm(result, answers["cold"], answers[kind])
        if kind == "cold" and answers[kind]["status"] != "pass":
            break
    return answers


def _diagnose(
    job: Job, result: Result, folder: Path, artifacts: Path | None, deadline: float
) -> None:
    """Adds the diagnostic start to a result that is otherwise finished; its failure is its own."""
    announce("starts")
    ablation.free_device()
    own_folder = folder / diagnostic_start.KIND
    own_folder.mkdir()
    ends_at = deadline - records.TIME_TO_PACK_S
    try:
        answer = starts.Starts(job, own_folder, artifacts, ends_at).diagnose()
    except Exception as error:
        answer = start.failed(error)
    report.start(result, diagnostic_start.KIND, answer)
