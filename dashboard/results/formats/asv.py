"""The results of asv (airspeed velocity), one JSON file for each commit: times and peak memory.

What a benchmark measures is in its name: time_ and timeraw_ are seconds, peakmem_ is bytes. This
site has no metric for mem_ and track_.
"""

import itertools
import math
from collections.abc import Iterator, Mapping
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

TOOL = "asv"
MOST_COMBINATIONS = 10_000


def matches(value: Any) -> bool:
    return isinstance(value, dict) and {"commit_hash", "results", "params"} <= value.keys()


def read(name: str, value: Mapping[str, Any], hints: Hints) -> ParsedFile:
    """Each benchmark and combination of its parameters is one result."""
    found = ParsedFile(f"asv results, version {value.get('version', '?')}")
    with found.part(name):
        _read_benchmarks(name, value, hints, found)
    return found


def _read_benchmarks(name: str, value: Mapping[str, Any], hints: Hints, found: ParsedFile) -> None:
    sha = fields.text(value.get("commit_hash"), "commit_hash")
    at = fields.moment(fields.number(value.get("date"), "date") / 1000, "date")
    machine, results = (
        fields.mapping(value.get("params"), "params"),
        fields.mapping(value["results"], "results"),
    )
    columns = [
        str(one)
        for one in fields.items(value.get("result_columns", ["result", "params"]), "result_columns")
    ]
    for benchmark, row in results.items():
        where = f"{name}, results.{benchmark}"
        with found.part(where):
            for model, number_found in _values(benchmark, row, columns, found):
                case = _case(where, model, sha, at, machine, hints)
                case.status, case.message, case.metrics = _told(benchmark, number_found)
                found.add(case)


def _case(
    where: str, model: str, sha: str, at: datetime, machine: Mapping[str, Any], hints: Hints
) -> ForeignMeasurement:
    return ForeignMeasurement(
        where,
        TOOL,
        model,
        "asv",
        hints.build or f"git-{sha[:12]}",
        at,
        hints.config or CONFIG,
        git_sha=sha,
        cpu=str(machine.get("cpu") or "unknown CPU"),
        cores=fields.whole(machine.get("num_cpu") or 1, "params.num_cpu"),
        python=str(machine.get("python") or "").rsplit("/", 1)[-1],
        memory_gb=round(fields.number(machine.get("ram") or 0, "params.ram") / 1e9, 1),
    )


def _values(
    benchmark: str, row: Any, columns: list[str], found: ParsedFile
) -> Iterator[tuple[str, float | None]]:
    """(benchmark with its parameters, value) of what this site has a metric for; the value of a
    failure is None.
    """
    if _scale(benchmark) is None:
        found.left_out[benchmark.rsplit(".", 1)[-1].split("_", 1)[0] + "_"] += 1
        return
    entry = dict(zip(columns, row, strict=False)) if isinstance(row, list) else {"result": row}
    results, parameters = entry.get("result"), entry.get("params") or []
    if results is None:
        yield benchmark, None
        return
    lists = [results, parameters, *(parameters if isinstance(parameters, list) else ())]
    if not all(isinstance(one, list) for one in lists):
        raise fields.Malformed("result or params is not a list")
    if math.prod(map(len, parameters)) > MOST_COMBINATIONS:
        raise fields.Malformed(f"params has more than {MOST_COMBINATIONS} combinations")
    combinations = list(itertools.product(*parameters))
    if len(combinations) != len(results):
        raise fields.Malformed(
            f"result has {len(results)} values for {len(combinations)} combinations of parameters"
        )
    for combination, value in zip(combinations, results, strict=True):
        if isinstance(value, float) and math.isnan(value):
            continue  # skipped by its author
        name = "_".join([benchmark, *map(str, combination)])
        yield name, None if value is None else fields.number(value, f"result of {name}")


def _scale(benchmark: str) -> tuple[str, float] | None:
    kind = benchmark.rsplit(".", 1)[-1].split("_", 1)[0].lower()
    return {
        "time": ("latency_ms", 1e3),
        "timeraw": ("latency_ms", 1e3),
        "peakmem": ("peak_memory_gb", 1e-9),
    }.get(kind)


def _told(benchmark: str, value: float | None) -> tuple[str, str, dict[str, MetricValue]]:
    scale = _scale(benchmark)
    assert scale is not None  # others are left out
    if value is None:
        return "fail_to_run", "asv kept no value: the benchmark failed", {}
    return "pass", "", {scale[0]: MetricValue(value * scale[1], n=1)}
