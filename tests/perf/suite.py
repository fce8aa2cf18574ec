"""What the suite itself costs: one list of jobs in fresh and in forked processes, side by side.

    python -m tests.perf.suite [LIST]

LIST is JSON Lines, as for `batch`; without one, a few smoke cases on the CPU. Printed for each way:
wall and CPU time, the share of the wall time that was compile, warm-up and samples, and where the
rest went.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

from benchmarks_suite.commands import batch
from benchmarks_suite.harness import caches, forks

QUICK = {"budget_s": 3, "single_steps": 50}
CASES = (
    ("mlp.smoke.inference.float32.static.b64", "inductor", ["cold", "warm", "restored"]),
    ("gpt2.smoke.inference.float32.static.b2", "eager", []),
    ("gpt2.smoke.inference.float32.static.b2", "inductor", ["cold", "warm"]),
)
WAYS = ("fresh", "forked")


@dataclass(frozen=True)
class Cost:
    """Seconds of one way. rest: what was not measurement, by stage; jobs: how many left a
    result.
    """

    wall_s: float
    cpu_s: float
    measured_s: float
    rest: dict[str, float]
    jobs: int


def main(arguments: list[str]) -> None:
    with tempfile.TemporaryDirectory(prefix="suite-cost-") as folder:
        path = Path(arguments[0]) if arguments else _default_list(Path(folder))
        for device in {queued.job.device for queued in batch.read(path, Path(folder))}:
            caches.base(device)  # once for a machine, whatever the way
        costs = {way: cost(way, path, Path(folder) / way) for way in WAYS}
    print("\n".join(table(costs)))


def _default_list(folder: Path) -> Path:
    lines = [
        {"benchmark": name, "config": config, "measure": QUICK | {"starts": kinds}}
        for name, config, kinds in CASES
    ]
    path = folder / "list.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def cost(way: str, path: Path, out: Path) -> Cost:
    """Runs the list in processes of one way."""
    began, cpu_before = time.monotonic(), _children_cpu_s()
    command = [sys.executable, "-m", "benchmarks_suite", "batch", str(path), str(out)]
    subprocess.run(
        command, env={**os.environ, forks.SWITCH: way}, check=True, stdout=subprocess.DEVNULL
    )
    wall_s = time.monotonic() - began
    documents = [json.loads(result.read_text()) for result in sorted(out.glob("*/result.json"))]
    stages: dict[str, float] = {}
    for document in documents:
        for stage, seconds in document["wall_s"].items():
            stages[stage] = stages.get(stage, 0.0) + seconds
    measured_s = sum(map(batch.measurement_s, documents))
    rest = {"outside of the stages": wall_s - sum(stages.values())}
    rest |= {
        stage: seconds
        for stage, seconds in stages.items()
        if stage not in (*batch.MEASURING, "starts")
    }
    rest["starts, beside their steps"] = wall_s - measured_s - sum(rest.values())
    return Cost(wall_s, _children_cpu_s() - cpu_before, measured_s, rest, len(documents))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def table(costs: dict[str, Cost]) -> list[str]:
    """The costs side by side, in seconds."""
    rows = [
        ("jobs", [f"{cost.jobs}" for cost in costs.values()]),
        ("wall time", [f"{cost.wall_s:.0f} s" for cost in costs.values()]),
        ("CPU time", [f"{cost.cpu_s:.0f} s" for cost in costs.values()]),
        ("compile, warm-up, samples", [f"{cost.measured_s:.0f} s" for cost in costs.values()]),
        ("their share", [f"{cost.measured_s / cost.wall_s:.0%}" for cost in costs.values()]),
    ]
    longest_first = sorted(
        {stage for cost in costs.values() for stage in cost.rest},
        key=lambda stage: -costs[WAYS[0]].rest[stage],
    )
    rows += [
        (f"  {stage}", [f"{cost.rest[stage]:.1f} s" for cost in costs.values()])
        for stage in longest_first
    ]
    return [f"{'':<30}" + "".join(f"{way:>10}" for way in costs)] + [
        f"{name:<30}" + "".join(f"{value:>10}" for value in values) for name, values in rows
    ]


if __name__ == "__main__":
    main(sys.argv[1:])
