"""One start, measured in a process of its own: ``python -m benchmarks_suite.harness.start SPEC_FILE ANSWER_FILE``.

The same procedure for cold, warm and restored; only the contents of the private Inductor and Triton caches differ.

1. Imports: torch, the compiler, the model's libraries. From here memory is counted.
2. The model and its batches; the device's context, and one untimed matmul.
3. restored only: the saved artifacts fill the caches (timed apart).
4. Time zero: the first step, until the device is idle. CPU seconds with those of the compilers it started.
5. More steps, each timed: when is it steady? Every batch comes twice, so that each recompilation has happened.
6. Steady peak memory of this arm alone.
7. What the compiler did: breaks, recompiles, phases, counters, generated code, artifacts.

The answer file is JSON: {"status", "message", "error", ...what was found}. It is written for a failure too.
"""

import ctypes
import json
import os
import resource
import signal
import statistics
import sys
import time
from pathlib import Path
from typing import Any

from benchmarks_suite import registry
from benchmarks_suite.harness import job as jobs
from benchmarks_suite.harness import outcome, result

STEADY_STEPS, STEADY_S, STEADY_FACTOR = 10, 5.0, 1.5
MEMORY_STEPS = 3


def main(spec_file: str, answer_file: str) -> None:
    """Runs the start that the spec asks for, and answers."""
    ctypes.CDLL(None).prctl(1, signal.SIGKILL)  # PR_SET_PDEATHSIG: no start outlives the job that wants it
    spec = json.loads(Path(spec_file).read_text())
    answer: dict[str, Any] = {"status": "pass", "message": ""}
    try:
        answer |= measure(jobs.parse(spec["job"]), spec)
    except Exception as error:
        answer |= {**vars(outcome.of(error, "compile")), "error": result.described(error)}
    Path(answer_file).write_text(json.dumps(answer))


def measure(job: jobs.Job, spec: dict[str, Any]) -> dict[str, Any]:
    """Steps 1 to 7; see the module's docstring. The answer without status."""
    import torch

    from benchmarks_suite.harness import compiling, torch_versions
    from benchmarks_suite.harness.generated_code import GeneratedCode
    from benchmarks_suite.harness.memory import PeakMemory
    from benchmarks_suite.harness.prepared import Prepared, settle_process
    from benchmarks_suite.harness.timing import Stopwatch

    settle_process(job)
    torch_versions.import_compiler()
    hints = torch_versions.collect_hints()
    workload = registry.load(job.benchmark)
    device = torch.device(job.device)
    memory = PeakMemory(device)

    prepared = Prepared(job.benchmark, workload, job.device, job.measure.seed)
    torch_versions.set_options("inductor", job.inductor)
    arm = compiling.compiled_arm(prepared, job.config)
    stopwatch = Stopwatch(device, prepared.batches)
    torch.ones(256, 256, device=device) @ torch.ones(256, 256, device=device)
    code = GeneratedCode(*(Path(os.environ[name]) for name in ("TORCHINDUCTOR_CACHE_DIR", "TRITON_CACHE_DIR")))

    answer: dict[str, Any] = {}
    if spec["artifacts_in"]:
        before = time.perf_counter()
        torch_versions.load_artifacts(Path(spec["artifacts_in"]).read_bytes())
        answer["load_s"] = time.perf_counter() - before

    memory.reset()
    cpu_before = _cpu_s()
    first_ms, _ = stopwatch.time(arm, 1)
    answer |= {"first_step_s": first_ms / 1000, "cpu_s": _cpu_s() - cpu_before}
    answer["compile_peak_gb"] = memory.peak_gb()

    steps_ms = [first_ms]
    wanted, deadline = max(STEADY_STEPS, 2 * len(prepared.batches)), time.perf_counter() + STEADY_S
    while len(steps_ms) < wanted and (len(steps_ms) < 2 * len(prepared.batches) or time.perf_counter() < deadline):
        steps_ms.append(stopwatch.time(arm, 1, first=len(steps_ms))[0])
    answer |= {"steps_ms": [round(ms, 4) for ms in steps_ms], "steady_after_s": steady_after_s(steps_ms)}

    memory.reset()
    stopwatch.time(arm, max(MEMORY_STEPS, len(prepared.batches)))
    answer |= {"peak_gb": memory.peak_gb(), "why_no_memory": memory.why_absent}

    answer["compile"] = facts(hints.texts) | {"fingerprints": code.fingerprints()}
    if spec["code_out"]:
        code.save(Path(spec["code_out"]))
    if spec["artifacts_out"]:
        saved = torch_versions.save_artifacts()
        answer["artifact_bytes"] = len(saved) if saved else 0
        Path(spec["artifacts_out"]).write_bytes(saved or b"")
    return answer


def facts(hints: list[str]) -> dict[str, Any]:
    """What the compiler did in this process so far: the ``compile`` section of schema/result.v1.json, without fingerprints."""
    from benchmarks_suite.harness import torch_versions

    counted = torch_versions.counters()
    return {
        "graph_breaks": torch_versions.graph_breaks()[:1000],
        "recompiles": torch_versions.recompiles(),
        "phases_s": torch_versions.phases_s(),
        "counters": counted,
        "submodules": torch_versions.seconds_by_function(),
        "hints": list(dict.fromkeys(hints))[:200],
        "guard_overhead_us": torch_versions.guard_overhead_us(),
        "cache_hits": torch_versions.cache_hits(counted),
    }


def steady_after_s(steps_ms: list[float]) -> float:
    """Seconds from the first call until steps stay below STEADY_FACTOR times the median of the later half."""
    limit = STEADY_FACTOR * statistics.median(steps_ms[len(steps_ms) // 2 :])
    slow = [index for index, ms in enumerate(steps_ms) if ms > limit]
    return sum(steps_ms[: slow[-1] + 1]) / 1000 if slow else 0.0


def _cpu_s() -> float:
    """CPU seconds of this process and of its ended children (the C++ compiler)."""
    usages = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(usage.ru_utime + usage.ru_stime for usage in usages)


if __name__ == "__main__":
    main(*sys.argv[1:])
