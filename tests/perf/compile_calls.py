"""How well the calls of a cold compile repeat, next to its time.

    python -m tests.perf.compile_calls [BENCHMARK] [--processes 5]

Each round compiles the case twice in fresh processes with fresh caches: a cold start, which is
timed, and a counted one. Every round has another hash seed. Half of the rounds run next to busy
loops, one for each CPU. It prints every round, and the range (largest - smallest) / median of the
calls, the wall clock and the CPU time.
"""

import argparse
import json
import multiprocessing
import os
import statistics
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path
from typing import Any

from benchmarks_suite.harness import caches, warm_imports
from benchmarks_suite.harness.job import Job, parse
from benchmarks_suite.harness.ranks import command

MLP = "mlp.smoke.inference.float32.static.b64"
COLUMNS = {"calls": "calls", "first_step_s": "wall clock, s", "cpu_s": "CPU, s"}
Round = dict[str, float]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("benchmark", nargs="?", default=MLP)
    parser.add_argument("--processes", type=int, default=5, help="rounds of each kind (5)")
    parser.add_argument("--device", default="cpu")
    options = parser.parse_args()
    document = {
        "schema": "job.v1",
        "job_id": "by-hand",
        "attempt": 1,
        "benchmark": options.benchmark,
        "config": "inductor",
        "device": options.device,
    }
    job = parse(document)
    base = caches.base(job.device)
    print(
        f"{options.benchmark} inductor\n\n| machine | hash seed | {' | '.join(COLUMNS.values())} |"
    )
    print("|---|---|---|---|---|")
    rounds: list[Round] = []
    for machine, load in (("as it was", nullcontext), ("busy loops", busy_loops)):
        for number in range(options.processes):
            seed = number if load is nullcontext else options.processes + number
            with load():
                rounds.append(measured(job, base, seed))
            values = (f"{rounds[-1][key]:,.10g}" for key in COLUMNS)
            print(f"| {machine} | {seed} | {' | '.join(values)} |", flush=True)
    ranges = [f"{spread_percent([each[key] for each in rounds]):.3g}%" for key in COLUMNS]
    print(f"| **range** | | {' | '.join(ranges)} |")


def measured(job: Job, base: caches.Base, seed: int) -> Round:
    """A cold and a counted start, one after the other."""
    cold = answer(job, base, seed, "cold")
    counted = answer(job, base, seed, "counted")
    return {key: round({**cold, **counted}[key], 2) for key in COLUMNS}


def answer(job: Job, base: caches.Base, seed: int, kind: str) -> dict[str, Any]:
    """What a start of this kind answers, in a fresh process with this hash seed."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        spec, answered = folder / "spec.json", folder / "answer.json"
        spec.write_text(json.dumps({"job": job.document, "kind": kind}))
        variables = {
            **caches.child_environment(),
            **warm_imports.variables(job),
            **base.copied_to(folder).environment,
            "PYTHONHASHSEED": str(seed),
        }
        module = "benchmarks_suite.harness.start"
        arguments = command(job, module, str(spec), str(answered))
        subprocess.run(arguments, env=variables, cwd=folder, check=True)
        findings: dict[str, Any] = json.loads(answered.read_text())
    if findings["status"] != "pass":
        raise SystemExit(findings["message"])
    return findings


@contextmanager
def busy_loops() -> Iterator[None]:
    """One for each CPU; they end with the block."""
    loops = [multiprocessing.Process(target=_spin) for _ in range(os.cpu_count() or 1)]
    for loop in loops:
        loop.start()
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.join()


def _spin() -> None:
    while True:
        pass


def spread_percent(values: list[float]) -> float:
    return 100 * (max(values) - min(values)) / statistics.median(values)


if __name__ == "__main__":
    main()
