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
    results = []
    for index in range(options.processes):
        if result := _measured(document, index):
            results.append(result)
    if len(results) < 2:
        progress.note(
            "benchmarks_suite: fewer than two processes gave a result; the log above says why"
        )
        return FAILED
    by_metric = spreads(results)
    print(rendered(document, by_metric, results))  # noqa: T201 - the answer to the person who asked
    if options.out:
        written = {"job": document, "processes": len(results), "spreads": by_metric}
        options.out.write_text(json.dumps(written, indent=1) + "\n")
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
        result: dict[str, Any] = json.loads(result_file.read_text())
        return result


def spreads(results: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    """Metric -> mean, coefficient of variation and range between processes (percent), median half
    width within one.
    """
    values: dict[str, list[float]] = defaultdict(list)
    half_widths: dict[str, list[float]] = defaultdict(list)
    for result in results:
        for key, entry in result["metrics"].items():
            value, low, high = entry["value"], entry.get("low"), entry.get("high")
            values[key].append(value)
            if low is not None and high is not None and value:
                half_widths[key].append((high - low) / 2 / abs(value) * 100)
    repeated = [key for key in values if len(values[key]) > 1]
    return {key: _spread(values[key], half_widths[key]) for key in repeated}


def _spread(values: list[float], half_widths: list[float]) -> dict[str, Any]:
    mean = statistics.fmean(values)
    spread: dict[str, Any] = {
        "mean": mean,
        "between_percent": None,
        "range_percent": None,
        "within_percent": statistics.median(half_widths) if half_widths else None,
        "n": len(values),
    }
    if mean:
        scale = 100 / abs(mean)
        between = statistics.stdev(values) * scale
        spread["between_percent"] = between if math.isfinite(between) else None
        spread["range_percent"] = (max(values) - min(values)) * scale
    return spread


def rendered(
    document: dict[str, Any], by_metric: dict[str, dict[str, Any]], results: list[dict[str, Any]]
) -> str:
    """The spreads as a table, and whether the generated code was the same each time."""
    lines = [
        f"{document['benchmark']}  {document['config']}: {len(results)} fresh processes",
        f"  {'metric':<26} {'mean':>10} {'between (cv)':>13} {'range':>9} {'within (±)':>11}",
    ]
    for key, spread in by_metric.items():
        mean = table.number(spread["mean"])
        between = _percent(spread["between_percent"])
        range_ = _percent(spread["range_percent"])
        within = _percent(spread["within_percent"])
        lines.append(f"  {key:<26} {mean:>10} {between:>13} {range_:>9} {within:>11}")
    fingerprints = set[str]()
    for result in results:
        if "compile" in result:
            fingerprints.add(json.dumps(result["compile"]["fingerprints"], sort_keys=True))
    if len(fingerprints) == 1:
        lines.append("generated code: the same each time")
    elif fingerprints:
        lines.append(f"generated code: {len(fingerprints)} different ones: unstable")
    return "\n".join(lines)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:.2f} %"
