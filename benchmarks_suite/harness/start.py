"""One start, measured in a process of its own.

That process is forked from the job's (starts.py), or is a fresh one, run as
``benchmarks_suite.harness.start SPEC_FILE ANSWER_FILE``. The procedure is the same for cold, warm
and restored; only the contents of the private Inductor and Triton caches differ. The counted start
(counted_start.py), startup (startup.py) and the diagnostic one (diagnostic_start.py) have others.

1. Imports: torch, the compiler, the model's libraries; a forked process has them. From here memory
   is counted.
2. The model and its batches; the device's context, and one untimed matmul.
3. restored only: the saved artifacts fill the caches (timed apart).
4. Time zero: the first step, until the device is idle. CPU seconds with those of the compilers it
   started.
5. More steps, each timed: when is it steady? Every batch comes twice, so that each recompilation
   has happened. Then later ones, where a warm start's are compared with the cold one's. In the cold
   start of a config that walks through shapes: that walk (sweep.py).
6. Steady peak memory of this arm alone.
7. What the compiler did: breaks, recompiles, phases, counters, generated code, artifacts.

The answer file is JSON: {"status", "message", "error", ...findings}. It is written for a failure
too.
"""

from __future__ import annotations

import json
import math
import os
import resource
import statistics
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks_suite.harness import (
    cache_keys,
    counted_start,
    diagnostic_start,
    forks,
    generated_code,
    outcome,
    perf_hints,
    ranks,
    result,
    startup,
    warm_imports,
)
from benchmarks_suite.harness import job as jobs
from benchmarks_suite.harness.contract import Document

if TYPE_CHECKING:
    import torch

    from benchmarks_suite.harness.arms import Arm
    from benchmarks_suite.harness.memory import PeakMemory
    from benchmarks_suite.harness.timing import Stopwatch

STEADY_STEPS, STEADY_S, STEADY_FACTOR = 10, 5.0, 1.5
LATER_PASSES, LATER_S = 50, 0.5
MEMORY_STEPS = 3


def answer(spec_file: Path, answer_file: Path) -> None:
    """Runs the start that the spec describes, and answers."""
    spec = json.loads(spec_file.read_text())
    job = ranks.own(jobs.parse(spec["job"]))
    try:
        ranks.join(job)
        findings = {"status": "pass", "message": "", **_measured(job, spec)}
    except Exception as error:
        findings = failed(error)
    ranks.leave(job, answer_file, findings, failed=findings["status"] != "pass")


def _measured(job: jobs.Job, spec: Document) -> Document:
    if spec.get("kind") in startup.KINDS:
        return startup.measure(job)
    if spec.get("kind") == "counted":
        return counted_start.measure(job, spec)
    if spec.get("kind") == diagnostic_start.KIND:
        return diagnostic_start.measure(job)
    return measure(job, spec)


def failed(error: Exception) -> Document:
    """The answer of a start that ``error`` ended."""
    ended = outcome.of(error, "compile")
    return {
        "status": ended.status,
        "message": ended.message,
        "error": result.described(error),
    }


def measure(job: jobs.Job, spec: Document) -> Document:
    """Steps 1 to 7; see the module's docstring. The answer without status."""
    warm_imports.import_torch(job.config.backend)
    warm_imports.import_model(job.benchmark.module)
    import torch

    from benchmarks_suite import loading
    from benchmarks_suite.harness import compiling, sweep, torch_versions
    from benchmarks_suite.harness.memory import PeakMemory
    from benchmarks_suite.harness.timing import Stopwatch
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

    settle_process(job)
    torch_versions.start_compile_workers()
    hints, limits = perf_hints.collect(), perf_hints.recompile_limits()
    keys = cache_keys.collect(job)
    device = torch.device(job.device)
    memory = PeakMemory(device)
    workload = loading.load(job.benchmark)
    memory.start_counting()
    working_copy = WorkingCopy(job.benchmark, workload, job.device, job.measure.seed)
    torch_versions.set_options("inductor", job.inductor)
    arm = compiling.compiled_arm(working_copy, job.config)
    stopwatch = Stopwatch(device, working_copy.batches)
    _warm_up_matmul(device)
    caches = [Path(os.environ[name]) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")]
    code = generated_code.GeneratedCode(*caches)

    findings = _filled_caches(spec.get("artifacts_in"))
    memory.reset()
    findings |= _first_step(job, stopwatch, arm)
    suites_own_gb = working_copy.bytes_beside_arms / 1e9
    findings["compile_peak_gb"] = memory.peak_gb() - suites_own_gb
    first_ms = findings["first_step_s"] * 1000
    if job.config.sweep and spec.get("kind") == "cold":
        findings |= sweep.walk(working_copy, arm, job.config.sweep, first_ms)
    else:
        findings |= _more_steps(job, stopwatch, arm, first_ms, len(working_copy.batches))
    steps = max(MEMORY_STEPS, len(working_copy.batches))
    findings |= _memory_of_steps(memory, stopwatch, arm, steps, suites_own_gb)
    missed = {"recompile_limits": limits.texts, "cache": keys.document()}
    findings["compile"] = facts(hints.texts) | _facts_of(code) | missed
    if "code_out" in spec:
        code.save(Path(spec["code_out"]))
    return findings | _saved_artifacts(spec.get("artifacts_out"))


def _memory_of_steps(
    memory: PeakMemory, stopwatch: Stopwatch, arm: Arm, steps: int, suites_own_gb: float
) -> Document:
    """Measure the peak of so many steps: step 6. suites_own_gb: of what stands beside the arm."""
    memory.reset()
    stopwatch.time(arm, steps)
    return {
        "peak_gb": memory.peak_gb() - suites_own_gb,
        "beside_peak_gb": memory.beside_peak_gb(),
        "why_no_memory": memory.why_absent,
    }


def _warm_up_matmul(device: torch.device) -> None:
    """Step 2's matmul. Its workspace is given back: an arm without one would count it as its own
    memory.
    """
    import torch

    from benchmarks_suite.harness import torch_versions

    torch.ones(256, 256, device=device) @ torch.ones(256, 256, device=device)
    torch_versions.forget_matmul_workspace()


def _filled_caches(artifacts: str | None) -> Document:
    """Step 3."""
    from benchmarks_suite.harness import torch_versions

    if artifacts is None:
        return {}
    before = time.perf_counter()
    torch_versions.load_artifacts(Path(artifacts).read_bytes())
    return {"load_s": time.perf_counter() - before}


def _first_step(job: jobs.Job, stopwatch: Stopwatch, arm: Arm) -> Document:
    """Step 4."""
    from benchmarks_suite.harness import kernel_traffic

    if job.on_gpu:
        kernel_traffic.observe()
    cpu_before = _cpu_s()
    first_ms, _ = stopwatch.time(arm, 1)
    return {"first_step_s": first_ms / 1000, "cpu_s": _cpu_s() - cpu_before}


def _more_steps(
    job: jobs.Job, stopwatch: Stopwatch, arm: Arm, first_ms: float, batches: int
) -> Document:
    """Time more steps until they are steady: step 5."""
    steps_ms = [first_ms]
    deadline = time.perf_counter() + STEADY_S
    while len(steps_ms) < 2 * batches or (
        len(steps_ms) < STEADY_STEPS and ranks.agreed(time.perf_counter() < deadline)
    ):
        ms, _ = stopwatch.time(arm, 1, first=len(steps_ms))
        steps_ms.append(ms)
    findings: Document = {
        "steps_ms": [round(ms, 4) for ms in steps_ms],
        "steady_after_s": steady_after_s(steps_ms),
    }
    if "warm" in job.measure.starts:
        findings["later_step_ms"] = _later_step_ms(stopwatch, arm, batches)
    return findings


def _later_step_ms(stopwatch: Stopwatch, arm: Arm, batches: int) -> Document:
    """Milliseconds per step of passes over the batches, with their interval."""
    from benchmarks_suite.harness.statistics import median_interval

    passes_ms: list[float] = []
    deadline = time.perf_counter() + LATER_S
    while not passes_ms or (
        len(passes_ms) < LATER_PASSES and ranks.agreed(time.perf_counter() < deadline)
    ):
        passes_ms.append(stopwatch.time(arm, batches)[0])
    median = median_interval(passes_ms)
    low, high = (end if math.isfinite(end) else None for end in (median.low, median.high))
    return {"value": median.value, "low": low, "high": high, "n": median.n}


def _saved_artifacts(path: str | None) -> Document:
    from benchmarks_suite.harness import torch_versions

    if path is None:
        return {}
    artifacts = torch_versions.save_artifacts() or b""
    Path(path).write_bytes(artifacts)
    return {"artifact_bytes": len(artifacts)}


def _facts_of(code: generated_code.GeneratedCode) -> Document:
    return {"fingerprints": code.fingerprints(), "code_bytes": code.size_bytes()}


def facts(hints: list[str]) -> Document:
    """Collect what the compiler did in this process so far.

    It is the ``compile`` section of schema/result.v1.json, without what the generated code says.
    """
    from benchmarks_suite.harness import compiler_counts, torch_versions

    counters = torch_versions.counters()
    return {
        "graph_breaks": torch_versions.graph_breaks()[:1000],
        "recompiles": torch_versions.recompiles(),
        "phases_s": torch_versions.phases_s(),
        "counters": counters,
        "submodules": torch_versions.seconds_by_function(),
        "hints": list(dict.fromkeys(hints))[:200],
        "cache_hits": torch_versions.cache_hits(counters),
        "counts": compiler_counts.counts(counters),
        "cudagraph_skips": compiler_counts.cudagraph_skip_reasons(),
    }


def steady_after_s(steps_ms: list[float]) -> float:
    """Seconds until steps stay below STEADY_FACTOR times the median of the later half."""
    limit = STEADY_FACTOR * statistics.median(steps_ms[len(steps_ms) // 2 :])
    steady_from = 0
    for index, ms in enumerate(steps_ms):
        if ms > limit:
            steady_from = index + 1
    return sum(steps_ms[:steady_from]) / 1000


def _cpu_s() -> float:
    """CPU seconds of this process, its ended children (the C++ compiler) and the living ones.

    The living ones are compile workers.
    """
    seconds = 0.0
    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):
        usage = resource.getrusage(who)
        seconds += usage.ru_utime + usage.ru_stime
    return seconds + sum(map(_cpu_s_of, forks.children(os.getpid())))


def _cpu_s_of(process: int) -> float:
    """CPU seconds of another process and all its children; 0 for one that has ended."""
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    ticks = sum(map(int, fields[11:15]))  # utime, stime, cutime, cstime: proc(5)
    return ticks / os.sysconf("SC_CLK_TCK") + sum(map(_cpu_s_of, forks.children(process)))


if __name__ == "__main__":
    forks.end_with_parent(os.getppid())  # no start outlives the job that wants it
    answer(*map(Path, sys.argv[1:]))
