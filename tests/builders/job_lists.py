"""Lists of jobs for the unattended queue, and what it left of them."""

import json
from pathlib import Path
from typing import Any

from benchmarks_suite.commands import batch
from benchmarks_suite.harness.job import Job

EAGER: dict[str, Any] = {
    "benchmark": "mlp.smoke.inference.float32.static.b64",
    "config": "eager",
    "measure": {"budget_s": 0.1},
}


def a_list(folder: Path, *lines: dict[str, Any]) -> Path:
    path = folder / "list.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)))
    return path


def jobs_of(path: Path) -> list[Job]:
    return [queued.job for queued in batch.read(path, path.parent / "out")]


def results_in(out: Path) -> list[dict[str, Any]]:
    """In the order of the list."""
    return [json.loads(file.read_text()) for file in sorted(out.glob("*/result.json"))]
