"""The results of asv (airspeed velocity), one JSON file for each commit: times and peak memory.

What a benchmark measures is in its name: time_ and timeraw_ are seconds, peakmem_ is bytes. This
site has no metric for mem_ and track_.
"""

import itertools
import math
from collections.abc import Iterator
from datetime import datetime
from typing import Any

from dashboard.results.formats import fields
from dashboard.results.formats.common import (
    CONFIG,
    ForeignMeasurement,
    Hints,
    MetricValue,
    ParsedFile,
)
from dashboard.results.formats.fields import Record

TOOL = "asv"
MOST_COMBINATIONS = 10_000
# Prefix of a benchmark's name -> our metric and the factor to its unit
METRICS_OF = {
    "time": ("latency_ms", 1e3),
    "timeraw": ("latency_ms", 1e3),
    "peakmem": ("peak_memory_gb", 1e-9),
}


def matches(value: Any) -> bool:
    """Test whether a decoded file is one of asv's results."""
    return isinstance(value, dict) and {"commit_hash", "results", "params"} <= value.keys()


def read(name: str, value: Record, hints: Hints) -> ParsedFile:
    """Each benchmark and combination of its parameters is one result."""
    file = ParsedFile(f"asv results, version {value.get('version', '?')}")
    with file.part(name):
        _read_benchmarks(name, value, hints, file)
    return file


def _environment(name: str, value: Record) -> str:
    """The environment's name; the first versions have it in that of the file alone."""
    _, dash, rest = name.rpartition("/")[2].partition("-")
    of_file = rest.removesuffix(".gz").removesuffix(".json") if dash else ""
    return str(value.get("env_name") or of_file or CONFIG)


def _read_benchmarks(name: str, value: Record, hints: Hints, file: ParsedFile) -> None:
    sha = fields.text(value.get("commit_hash"), "commit_hash")
    at = fields.moment(value.get("date"), "date", hints.at, 1e-3)
    environment = _environment(name, value)
    machine = fields.mapping(value.get("params"), "params")
    results = fields.mapping(value["results"], "results")
    columns = fields.items(value.get("result_columns", ["result", "params"]), "result_columns")

    for benchmark, row in results.items():
        prefix = benchmark.rsplit(".", 1)[-1].split("_", 1)[0]  # "suite.Class.time_sum" -> "time"
        if prefix.lower() not in METRICS_OF:
            file.left_out[f"{prefix}_"] += 1
            continue
        where = f"{name}, results.{benchmark}"
        with file.part(where):
            for model, number in _values(benchmark, row, [str(column) for column in columns]):
                case = _case(where, model, sha, at, machine, environment, hints)
                if number is None:
                    case.status = "fail_to_run"
                    case.message = "asv kept no value: the benchmark failed"
                else:
                    key, factor = METRICS_OF[prefix.lower()]
                    amount = fields.quantity(number, f"result of {model}", factor)
                    case.metrics = {key: MetricValue(amount, n=1)}
                file.cases.append(case)


def _case(
    where: str,
    model: str,
    sha: str,
    at: datetime,
    machine: Record,
    environment: str,
    hints: Hints,
) -> ForeignMeasurement:
    return ForeignMeasurement(
        where,
        TOOL,
        model,
        "asv",
        hints.build or f"git-{sha[:12]}",
        at,
        hints.config or environment,
        suite=environment if hints.config else "",
        plain_config=hints.config or CONFIG,
        git_sha=sha,
        machine=str(machine.get("machine") or ""),
        cpu=str(machine.get("cpu") or "unknown CPU"),
        cores=fields.whole(machine.get("num_cpu") or 1, "params.num_cpu"),
        python=str(machine.get("python") or "").rsplit("/", 1)[-1],
        memory_gb=_memory_gb(machine),
    )


def _memory_gb(machine: Record) -> float:
    """0 where it is not known: asv takes what a person writes, such as 7GB."""
    try:
        return round(fields.number(machine.get("ram") or 0, "params.ram") / 1e9, 1)
    except fields.Malformed:
        return 0.0


def _values(benchmark: str, row: Any, columns: list[str]) -> Iterator[tuple[str, float | None]]:
    """(benchmark with its parameters, value) of a row; the value of a failure is None."""
    entry = row if isinstance(row, dict) else {"result": row}  # of version 1
    if isinstance(row, list):
        entry = dict(zip(columns, row, strict=False))
    results = entry.get("result")
    if results is None:
        yield benchmark, None
        return
    if not isinstance(results, list):
        results = [results]
    combinations = _combinations(entry.get("params") or [])
    if len(combinations) != len(results):
        raise fields.Malformed(
            f"result has {len(results)} values for {len(combinations)} combinations of parameters"
        )
    for combination, value in zip(combinations, results, strict=True):
        if isinstance(value, float) and math.isnan(value):
            continue  # skipped by its author
        name = f"{benchmark}[{', '.join(map(str, combination))}]" if combination else benchmark
        yield name, None if value is None else fields.number(value, f"result of {name}")


def _combinations(parameters: Any) -> list[tuple[Any, ...]]:
    """Every combination of the values that each parameter takes."""
    if not isinstance(parameters, list) or not all(isinstance(each, list) for each in parameters):
        raise fields.Malformed("result or params is not a list")
    if math.prod(map(len, parameters)) > MOST_COMBINATIONS:
        raise fields.Malformed(f"params has more than {MOST_COMBINATIONS} combinations")
    return list(itertools.product(*parameters))
