"""What the suite itself costs: one list of jobs in fresh and in forked processes, side by side.

    python -m tests.perf.suite [LIST]

LIST is JSON Lines, as for `batch`; without one, a few smoke cases on the CPU. For each way it
prints the wall and CPU time, the share of the wall time that was compile, warm-up and samples, and
where the rest went.
"""

import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from benchmarks_suite.commands import batch
from benchmarks_suite.harness import caches, forks

QUICK = {"budget_s": 3, "single_steps": 50}
CASES: tuple[tuple[str, str, list[str]], ...] = (
    ("mlp.smoke.inference.float32.static.b64", "inductor", ["cold", "warm", "restored"]),
    ("gpt2.smoke.inference.float32.static.b2", "eager", []),
    ("gpt2.smoke.inference.float32.static.b2", "inductor", ["cold", "warm"]),
)
WAYS = ("fresh", "forked")


@dataclass(frozen=True)
class Cost:
    """Seconds of one way.

    rest: what was not measurement, by stage.
    jobs: how many left a result.
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
    path = folder / "list.jsonl"
    with path.open("w") as file:
        for name, config, kinds in CASES:
            measure = QUICK | {"starts": kinds}
            line = {"benchmark": name, "config": config, "measure": measure}
            file.write(json.dumps(line) + "\n")
    return path


def cost(way: str, path: Path, out: Path) -> Cost:
    """Runs the list in processes of one way."""
    began, cpu_before = time.monotonic(), _children_cpu_s()
    command = [sys.executable, "-m", "benchmarks_suite", "batch", str(path), str(out)]
    environment = {**os.environ, forks.SWITCH: way}
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    wall_s = time.monotonic() - began
    cpu_s = _children_cpu_s() - cpu_before

    documents = [json.loads(result.read_text()) for result in sorted(out.glob("*/result.json"))]
    measured_s = sum(map(batch.measurement_s, documents))
    stages = Counter[str]()
    for document in documents:
        stages.update(document["wall_s"])
    rest = {"outside of the stages": wall_s - stages.total(), **stages}
    for stage in (*batch.MEASURING, "starts"):
        rest.pop(stage, None)
    rest["starts, except their steps"] = wall_s - measured_s - sum(rest.values())
    return Cost(wall_s, cpu_s, measured_s, rest, len(documents))


def _children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def table(costs: dict[str, Cost]) -> list[str]:
    """The costs side by side, in seconds."""

    def row(name: str, text: Callable[[Cost], str]) -> str:
        return f"{name:<30}" + "".join(f"{text(cost):>10}" for cost in costs.values())

    lines = [
        f"{'':<30}" + "".join(f"{way:>10}" for way in costs),
        row("jobs", lambda cost: str(cost.jobs)),
        row("wall time", lambda cost: f"{cost.wall_s:.0f} s"),
        row("CPU time", lambda cost: f"{cost.cpu_s:.0f} s"),
        row("compile, warm-up, samples", lambda cost: f"{cost.measured_s:.0f} s"),
        row("their share", lambda cost: f"{cost.measured_s / cost.wall_s:.0%}"),
    ]
    stages = costs[WAYS[0]].rest
    for stage in sorted(stages, key=lambda stage: -stages[stage]):
        lines.append(row(f"  {stage}", lambda cost, stage=stage: f"{cost.rest[stage]:.1f} s"))  # type: ignore[misc]
    return lines


if __name__ == "__main__":
    main(sys.argv[1:])
