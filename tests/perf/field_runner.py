"""PyTorch's own way to measure a speedup next to ours, of the same compiled module.

    python -m tests.perf.field_runner measure OUT [--size smoke] [--device cpu] [--processes 2]
    python -m tests.perf.field_runner report OUT [RESULTS...]

Ten names of benchmarks/dynamo in inference. Its runner (`common.py`, `run_performance_test` and
`speedup_experiment`) is followed, without its code: five eager calls, five compiled ones, then 30
times an eager and a compiled call, always in this order, each timed by itself between two
synchronizations; the speedup is the quotient of the two medians. Ours is harness/timing.py: samples
of 100 ms in pairs of random order, until the interval is ±0.5% or the budget is spent.

A process measures one name. It compiles once, on fresh caches, and then measures their way, ours,
and theirs again, so that kernels chosen anew never stand between them. OUT is JSON Lines, a line
for each process; the same command goes on where it was interrupted. RESULTS are the suite's own of
the same session, from which the report counts cases per hour. Run it on a machine that does nothing
else.
"""

import argparse
import json
import os
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks_suite.harness import caches, forks, warm_imports
from benchmarks_suite.harness import job as jobs
from benchmarks_suite.harness.contract import Document
from tests.perf.field_runner_report import OURS, THEIRS, report, speedup_of

if TYPE_CHECKING:
    from benchmarks_suite.harness.arms import Arm
    from benchmarks_suite.harness.timing import Stopwatch
    from benchmarks_suite.workload import Inputs

NAMES = {  # of both sizes: the model, and its batch at standard size
    "alexnet": 1024,
    "resnet18": 512,
    "resnet50": 32,
    "squeezenet1_1": 512,
    "deit_tiny_patch16_224_fb_in1k": 128,
    "visformer_small": 128,
    "bertformaskedlm": 16,
    "distilbertformaskedlm": 128,
    "electraforcausallm": 32,
    "trocrforcausallm": 32,
}
IN_TURN = (THEIRS, OURS, THEIRS)
WARM_UPS, REPEATS, SEED = 5, 30, 1337
TARGET_PERCENT = 0.5
LIMIT_S = 180.0  # of a process


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    measuring = commands.add_parser("measure")
    measuring.add_argument("out", type=Path)
    measuring.add_argument("--size", choices=("smoke", "standard"), default="standard")
    measuring.add_argument("--device", default="cuda")
    measuring.add_argument("--processes", type=int, default=2)
    measuring.add_argument("--minutes", type=float, default=float("inf"))
    measuring.add_argument("--budget-s", type=float, default=5.0, help="of our turn")
    measuring.add_argument("--threads", type=int, default=8)
    measuring.add_argument("--only", choices=NAMES, action="append")
    reporting = commands.add_parser("report")
    reporting.add_argument("out", type=Path)
    reporting.add_argument("results", nargs="*", type=Path)
    options = parser.parse_args()
    if options.command == "report":
        print("\n".join(report(read(options.out), options.results)))
        return
    forks.with_fixed_hashes()
    measure(options)


def measure(options: argparse.Namespace) -> None:
    """Every name in one process, then every name in another one, until the minutes are over."""
    deadline = time.monotonic() + options.minutes * 60
    names = options.only or list(NAMES)
    caches.base(options.device)  # the toolchain's checks are nobody's time
    began = time.monotonic()
    import_torch(job_of(names[0], options))
    import_s = time.monotonic() - began
    for process in range(options.processes):
        for name in names:
            measured = {(each["name"], each["process"]) for each in read(options.out)}
            left_s = deadline - time.monotonic()
            if (name, process) in measured or left_s <= 0:
                continue
            job = job_of(name, options)
            line = in_own_process(job, min(LIMIT_S, left_s))
            line |= {"name": name, "process": process, "import_s": import_s}
            with options.out.open("a") as out:
                out.write(json.dumps(line) + "\n")
            print(f"{name}: {line.get('error') or summary(line)}", flush=True)


def import_torch(job: jobs.Job) -> None:
    """What every process needs; the model's library is imported in its own."""
    warm_imports.set_variables(job)
    warm_imports.import_torch("inductor")


def job_of(name: str, options: argparse.Namespace) -> jobs.Job:
    smoke = options.size == "smoke"
    rest = "float32.static.b2" if smoke else f"bfloat16.static.b{NAMES[name]}"
    measure = {
        "budget_s": options.budget_s,
        "target_percent": TARGET_PERCENT,
        "threads": options.threads,
        "compile_threads": 2 * options.threads,
    }
    document = {
        "schema": "job.v1",
        "job_id": "by-hand",
        "attempt": 1,
        "benchmark": f"{name}.{options.size}.inference.{rest}",
        "config": "inductor",
        "device": options.device,
        "measure": measure,
    }
    return jobs.parse(document)


def in_own_process(job: jobs.Job, limit_s: float) -> Document:
    """What a forked child found; {"error"} where it ended otherwise."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as folder:
        answer = Path(folder) / "answer.json"
        fresh = caches.base(job.device).copied_to(Path(folder))

        def work() -> None:
            os.environ.update(fresh.environment)
            try:
                findings = both_ways(job)
            except Exception as error:
                findings = {"error": f"{type(error).__name__}: {error}"[:1000]}
            answer.write_text(json.dumps(findings))

        try:
            code = forks.run(work, limit_s)
        except TimeoutError:
            return {"error": f"ended after {limit_s:.0f} s"}
        if answer.exists():
            return dict(json.loads(answer.read_text()))
        return {"error": f"exit code {code}"}


def both_ways(job: jobs.Job) -> Document:
    """Builds and compiles once, then measures in turn. Seconds of each part are kept."""
    import torch

    from benchmarks_suite import loading
    from benchmarks_suite.harness import compiling
    from benchmarks_suite.harness.arms import eager_arm
    from benchmarks_suite.harness.timing import Stopwatch
    from benchmarks_suite.harness.working_copies import WorkingCopy, settle_process

    clock = Laps()
    warm_imports.import_model(job.benchmark.module)
    clock.lap("import_model_s")
    settle_process(job)
    working_copy = WorkingCopy(
        job.benchmark, loading.load(job.benchmark), job.device, job.measure.seed
    )
    stopwatch = Stopwatch(working_copy.device, working_copy.batches)
    clock.lap("build_s")
    arms = [eager_arm(working_copy)]
    stopwatch.time(arms[0], WARM_UPS)
    clock.lap("eager_warm_up_s")
    arms.append(compiling.compiled_arm(working_copy, job.config))
    stopwatch.time(arms[1], WARM_UPS)
    clock.lap("compiled_warm_up_s")
    for arm in arms:
        stopwatch.warm_up(arm)

    turns = []
    for way in IN_TURN:
        began = time.perf_counter()
        if way == THEIRS:
            samples = their_turn(stopwatch, arms, working_copy.batches[0])
        else:
            samples = our_turn(job, stopwatch, arms)
        turns.append({"way": way, "seconds": time.perf_counter() - began, **samples})
    device = torch.cuda.get_device_name() if job.on_gpu else "cpu"
    return {
        "benchmark": job.benchmark.name,
        "device": device,
        "torch": torch.__version__,
        "seconds": clock.laps,
        "turns": turns,
    }


class Laps:
    """Seconds of one part after the other."""

    def __init__(self) -> None:
        self._last = time.perf_counter()
        self.laps: dict[str, float] = {}

    def lap(self, name: str) -> None:
        now = time.perf_counter()
        self.laps[name] = now - self._last
        self._last = now


def their_turn(stopwatch: "Stopwatch", arms: "Sequence[Arm]", batch: "Inputs") -> Document:
    """Milliseconds of single calls, eager and compiled, each from the same seed."""
    import torch

    milliseconds: dict[str, list[float]] = {"eager": [], "compiled": []}
    for _ in range(REPEATS):
        for name, arm in zip(milliseconds, arms, strict=True):
            stopwatch.synchronize()
            torch.manual_seed(SEED)
            began = time.perf_counter_ns()
            arm.step(batch)
            stopwatch.synchronize()
            milliseconds[name].append((time.perf_counter_ns() - began) / 1e6)
    return milliseconds


def our_turn(job: jobs.Job, stopwatch: "Stopwatch", arms: "Sequence[Arm]") -> Document:
    """Milliseconds a step of each sample, eager and compiled, in pairs."""
    from benchmarks_suite.harness import timing

    measure = job.measure
    samples, _ = timing.sample(
        stopwatch, arms, measure.budget_s, measure.target_percent, measure.seed
    )
    eager, compiled = (samples[arm.name].ms for arm in arms)
    return {"eager": eager, "compiled": compiled}


def summary(line: Document) -> str:
    speedups = [f"{turn['way']} {speedup_of(turn):.4f}" for turn in line["turns"]]
    return ", ".join(speedups)


def read(out: Path) -> list[Document]:
    if not out.exists():
        return []
    return [json.loads(line) for line in out.read_text().splitlines() if line]


if __name__ == "__main__":
    main()
