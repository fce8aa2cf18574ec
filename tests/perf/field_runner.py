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
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import fmean, median
from typing import TYPE_CHECKING, Any

from benchmarks_suite.harness import caches, forks, recorded, warm_imports
from benchmarks_suite.harness import job as jobs
from benchmarks_suite.harness.contract import Document

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
THEIRS, OURS = "benchmarks/dynamo", "suite"
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


# The report


def report(lines: Sequence[Document], results: Sequence[Path]) -> Iterator[str]:
    measured = [line for line in lines if "turns" in line]
    for line in lines:
        if "error" in line:
            yield f"{line['name']}, process {line['process']}: {line['error']}"
    if not measured:
        return
    where = {f"torch {line['torch']}, {line['device']}" for line in measured}
    yield f"{len(measured)} processes, {', '.join(sorted(where))}\n"
    yield (
        "| name | steps, ms, theirs | ours | speedup, theirs | ours | inside | half width, theirs "
        "| ours |"
    )
    yield "|---|---|---|---|---|---|---|---|"
    for name in dict.fromkeys(line["name"] for line in measured):
        yield row(name, [line for line in measured if line["name"] == name])
    yield ""
    yield from summary_lines(measured)
    yield ""
    yield from costs(measured, results)


def row(name: str, lines: Sequence[Document]) -> str:
    theirs, ours = turns_of(lines, THEIRS), turns_of(lines, OURS)
    cells = [
        name,
        steps(theirs),
        steps(ours),
        ", ".join(f"{speedup_of(turn):.4f}" for turn in theirs),
        ", ".join(f"{speedup_of(turn):.4f}" for turn in ours),
        f"{sum(inside(line) for line in lines)} of {len(theirs)}",
        f"{half_width(theirs):.2f}%",
        f"{half_width(ours):.2f}%",
    ]
    return f"| {' | '.join(cells)} |"


def steps(turns: Sequence[Document]) -> str:
    """Eager and compiled milliseconds: the medians of the turns' medians."""
    eager, compiled = (median(median(turn[arm]) for turn in turns) for arm in ("eager", "compiled"))
    return f"{eager:.3g}, {compiled:.3g}"


def summary_lines(lines: Sequence[Document]) -> Iterator[str]:
    """Over all names: how far apart, how wide, how well each repeats. Of their pairs the interval
    is made as of ours.
    """
    turns = sum(len(turns_of([line], THEIRS)) for line in lines)
    yield f"Theirs inside our interval of the same process: {sum(map(inside, lines))} of {turns}"
    names = list(dict.fromkeys(line["name"] for line in lines))
    apart = []
    for name in names:
        of_name = [line for line in lines if line["name"] == name]
        theirs = median(map(speedup_of, turns_of(of_name, THEIRS)))
        ours = median(map(speedup_of, turns_of(of_name, OURS)))
        apart.append(abs(theirs / ours - 1) * 100)
    yield f"Distance of the medians, percent: median {median(apart):.2f}, largest {max(apart):.2f}"
    for way in (THEIRS, OURS):
        widths, within, between = [], [], []
        for name in names:
            of_name = [line for line in lines if line["name"] == name]
            widths.append(half_width(turns_of(of_name, way)))
            by_process = [list(map(speedup_of, turns_of([line], way))) for line in of_name]
            within += [range_percent(values) for values in by_process if len(values) > 1]
            if len(by_process) > 1:
                between.append(range_percent([median(values) for values in by_process]))
        text = f"{way}: half width of the interval {median(widths):.2f}% (median of the names)"
        if between:
            text += f"; processes differ by {median(between):.2f}% (largest {max(between):.2f}%)"
        if within:
            text += f", two turns of one by {median(within):.2f}% (largest {max(within):.2f}%)"
        yield text


def costs(lines: Sequence[Document], results: Sequence[Path]) -> Iterator[str]:
    """Seconds of a case either way, and so cases per hour."""
    seconds = [their_seconds(line) for line in lines]
    yield (
        f"Their way: {median(seconds):.1f} s a case (imports, building, warm-ups with compiling, "
        f"one turn), {per_hour(seconds)}, without the second process that checks the accuracy"
    )
    for way in (THEIRS, OURS):
        of_a_turn = [turn["seconds"] for turn in turns_of(lines, way)]
        yield f"A turn of {way} takes {median(of_a_turn):.2f} s"
    names = {line["benchmark"] for line in lines}
    jobs_s = []
    for path in results:
        for document in recorded.read(path):
            if document["benchmark"]["name"] in names and document["status"] == "pass":
                jobs_s.append(sum(document["wall_s"].values()))
    if jobs_s:
        yield (
            f"The suite's jobs of the same names: {median(jobs_s):.1f} s (of {len(jobs_s)}), "
            f"{per_hour(jobs_s)}, with accuracy, memory and a profile of both arms"
        )


def per_hour(seconds: Sequence[float]) -> str:
    return f"{3600 / fmean(seconds):.0f} cases per hour"


def their_seconds(line: Document) -> float:
    """What a process of theirs would have taken: all parts, and one turn of its own."""
    turn_s = turns_of([line], THEIRS)[0]["seconds"]
    return float(line["import_s"] + sum(line["seconds"].values()) + turn_s)


def turns_of(lines: Sequence[Document], way: str) -> list[Document]:
    turns = []
    for line in lines:
        turns += [turn for turn in line["turns"] if turn["way"] == way]
    return turns


def speedup_of(turn: Document) -> float:
    """Each way by its own rule: the quotient of medians, the median of the pairs' quotients."""
    if turn["way"] == THEIRS:
        return float(median(turn["eager"]) / median(turn["compiled"]))
    return float(interval(turn).value)


def interval(turn: Document) -> Any:
    """The suite's interval of the speedup; of their pairs, too, which keep none of their own."""
    from benchmarks_suite.harness.timing import Samples, speedup

    eager, compiled = Samples(1, turn["eager"]), Samples(1, turn["compiled"])
    return speedup(eager, compiled)


def inside(line: Document) -> int:
    """How many of their turns lie in the interval of ours."""
    (ours,) = map(interval, turns_of([line], OURS))
    theirs = map(speedup_of, turns_of([line], THEIRS))
    return sum(ours.low <= speedup <= ours.high for speedup in theirs)


def half_width(turns: Sequence[Document]) -> float:
    return median(interval(turn).half_width_percent for turn in turns)


def range_percent(values: Sequence[float]) -> float:
    return (max(values) - min(values)) / median(values) * 100


if __name__ == "__main__":
    main()
