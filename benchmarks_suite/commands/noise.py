"""``noise``: how much each metric differs between fresh processes that measure the same thing."""

import json
import math
import statistics
import tempfile
from argparse import ArgumentParser, Namespace
from collections import defaultdict
from pathlib import Path

from benchmarks_suite.commands import run as run_command
from benchmarks_suite.harness import job, progress, table
from benchmarks_suite.harness.ablation import run_apart
from benchmarks_suite.harness.contract import Document

OK, FAILED = 0, 1


def declare(parser: ArgumentParser) -> None:
    run_command.declare_case(parser)
    parser.add_argument(
        "--processes", type=int, default=5, help="how many fresh processes (default: 5)"
    )
    parser.add_argument("--out", type=Path, help="write the spreads here, as JSON")


def run(options: Namespace) -> int:
    document = run_command.document(options)
    job.parse(document)
    if options.processes < 2:
        raise job.JobError(f"--processes: a spread needs 2 or more, not {options.processes}")
    results = []
    for index in range(options.processes):
        progress.note(f"process {index + 1}")
        numbered = {**document, "job_id": f"noise-{index}"}
        with tempfile.TemporaryDirectory(prefix="compilewatch-noise-") as folder:
            if result := run_apart(numbered, Path(folder) / "case"):
                results.append(result)
    if len(results) < 2:
        progress.note(
            "benchmarks_suite: fewer than two processes gave a result; the log above says why"
        )
        return FAILED
    by_metric = spreads(results)
    progress.answer(rendered(document, by_metric, results))
    if options.out:
        written = {"job": document, "processes": len(results), "spreads": by_metric}
        options.out.write_text(json.dumps(written, indent=1) + "\n")
    return OK


def spreads(results: list[Document]) -> dict[str, Document]:
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


def _spread(values: list[float], half_widths: list[float]) -> Document:
    mean = statistics.fmean(values)
    spread: Document = {
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


def rendered(document: Document, by_metric: dict[str, Document], results: list[Document]) -> str:
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
    return "" if value is None else f"{value:.2f}%"
