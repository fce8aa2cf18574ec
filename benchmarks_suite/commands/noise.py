"""``noise``: how much each metric differs between fresh processes that measure the same thing."""

import json
import math
import statistics
import subprocess
import sys
import tempfile
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path
from typing import Any

from benchmarks_suite.commands import run as run_command
from benchmarks_suite.harness import caches, job, progress, table

OK, FAILED, WRONG_INPUT = 0, 1, 2
# Metrics with an interval of their own
WITHIN = ("latency_ms", "eager_latency_ms", "speedup", "throughput_per_s")


def declare(parser: ArgumentParser) -> None:
    run_command.declare_case(parser)
    parser.add_argument(
        "--processes", type=int, default=5, help="how many fresh processes (default: 5)"
    )
    parser.add_argument("--out", type=Path, help="write the spreads here, as JSON")


def run(options: Namespace) -> int:
    try:
        document = run_command.document(options)
        job.parse(document)
        if options.processes < 2:
            raise job.JobError(f"--processes: a spread needs 2 or more, not {options.processes}")
    except job.JobError as error:
        progress.note(f"benchmarks_suite: {error}")
        return WRONG_INPUT
    results = [
        result for index in range(options.processes) if (result := _measured(document, index))
    ]
    if len(results) < 2:
        progress.note(
            "benchmarks_suite: fewer than two processes gave a result; the log above says why"
        )
        return FAILED
    found = spreads(results)
    print(rendered(document, found, results))  # noqa: T201 - the answer to the person who asked
    if options.out:
        options.out.write_text(
            json.dumps({"job": document, "processes": len(results), "spreads": found}, indent=1)
            + "\n"
        )
    return OK


def _measured(document: dict[str, Any], index: int) -> dict[str, Any] | None:
    """The result of one fresh process; None where it left none."""
    with tempfile.TemporaryDirectory(prefix="compilewatch-noise-") as folder:
        job_file, result_file = Path(folder) / "job.json", Path(folder) / "result.json"
        job_file.write_text(json.dumps({**document, "job_id": f"noise-{index}"}))
        progress.note(f"process {index + 1}")
        command = [sys.executable, "-m", "benchmarks_suite", "run", str(job_file), str(result_file)]
        subprocess.run(command, env=caches.child_environment(), check=False)
        if not result_file.exists():
            return None
        found: dict[str, Any] = json.loads(result_file.read_text())
        return found


def spreads(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Metric -> mean, coefficient of variation and range between processes (percent), median half
    width within one.
    """
    values: dict[str, list[float]] = defaultdict(list)
    widths: dict[str, list[float]] = defaultdict(list)
    for result in results:
        for key, entry in result["metrics"].items():
            values[key].append(entry["value"])
            if entry.get("low") is not None and entry.get("high") is not None and entry["value"]:
                widths[key].append((entry["high"] - entry["low"]) / 2 / abs(entry["value"]) * 100)
    return {key: _spread(found, widths[key]) for key, found in values.items() if len(found) > 1}


def _spread(values: list[float], widths: list[float]) -> dict[str, Any]:
    mean = statistics.fmean(values)
    scale = 100 / abs(mean) if mean else math.nan
    between = statistics.stdev(values) * scale
    return {
        "mean": mean,
        "between_percent": between if math.isfinite(between) else None,
        "range_percent": (max(values) - min(values)) * scale if mean else None,
        "within_percent": statistics.median(widths) if widths else None,
        "n": len(values),
    }


def rendered(
    document: dict[str, Any], found: dict[str, dict[str, Any]], results: list[dict[str, Any]]
) -> str:
    """The spreads as a table, and whether the generated code was the same each time."""
    lines = [
        f"{document['benchmark']}  {document['config']}: {len(results)} fresh processes",
        f"  {'metric':<26} {'mean':>10} {'between (cv)':>13} {'range':>9} {'within (±)':>11}",
    ]
    for key, spread in found.items():
        shown = [
            _percent(spread[name])
            for name in ("between_percent", "range_percent", "within_percent")
        ]
        lines.append(
            f"  {key:<26} {table.number(spread['mean']):>10} {shown[0]:>13} {shown[1]:>9} "
            f"{shown[2]:>11}"
        )
    codes = {
        json.dumps(result["compile"]["fingerprints"], sort_keys=True)
        for result in results
        if "compile" in result
    }
    if codes:
        lines.append(
            "generated code: "
            f"{'the same each time' if len(codes) == 1 else f'{len(codes)} different ones: unstable'}"
        )
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} %"
