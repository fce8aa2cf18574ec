"""The results of asv (airspeed velocity), one JSON file for each commit: times and peak memory.

What a benchmark measures is in its name: time_ and timeraw_ are seconds, peakmem_ is bytes. This
site has no metric for mem_ and track_.
"""

import itertools
import math
from collections.abc import Iterator
from typing import Any

from dashboard.results.formats import fields, mapped
from dashboard.results.formats.common import CONFIG, Document, Hints, ParsedFile
from dashboard.results.formats.fields import Malformed, Record
from dashboard.results.formats.mapping import Rule, Table
from dashboard.results.formats.records import Records

MOST_COMBINATIONS = 10_000
TABLE = Table(
    [
        Rule(metric="latency_ms", unit="s", only={"unit": "time_"}),
        Rule(metric="latency_ms", unit="s", only={"unit": "timeraw_"}),
        Rule(metric="peak_memory_gb", unit="B", only={"unit": "peakmem_"}),
    ],
    {
        "tool": "asv",
        "name": "{name}",
        "family": "asv",
        "config": "{environment}",
        "plain_config": CONFIG,
        "commit": "{commit_hash}",
        "time": "{date}",
        "machine": "{machine}",
        "cpu": "{cpu}",
        "cores": "{num_cpu}",
        "memory_gb": "{memory_gb}",
        "python": "{python}",
        "status": "{status}",
        "message": "asv kept no value: the benchmark failed",
    },
    title="asv results",
)


def matches(value: Any) -> bool:
    """Test whether a decoded file is one of asv's results."""
    return isinstance(value, dict) and {"commit_hash", "results", "params"} <= value.keys()


def read(name: str, value: Record, hints: Hints) -> ParsedFile:
    """Each benchmark and combination of its parameters is one result."""
    return mapped.read(_records(name, value), TABLE, hints)


def _records(name: str, value: Record) -> Records:
    try:
        machine = fields.mapping(value.get("params"), "params")
        results = fields.mapping(value["results"], "results")
        columns = fields.items(value.get("result_columns", ["result", "params"]), "result_columns")
    except Malformed as error:
        yield name, error
        return
    # The first versions have the environment in the file's name alone
    of_file = name.rpartition("/")[2].partition("-")[2].removesuffix(".gz").removesuffix(".json")
    common = {
        **{key: machine.get(key) for key in ("machine", "cpu", "num_cpu")},
        "environment": value.get("env_name") or of_file or CONFIG,
        "commit_hash": value.get("commit_hash"),
        "date": value.get("date"),
        "memory_gb": _memory_gb(machine),
        "python": str(machine.get("python") or "").rpartition("/")[2],
    }
    for benchmark, row in results.items():
        prefix = benchmark.rpartition(".")[2].partition("_")[0]  # "suite.Class.time_sum" -> "time"
        where = f"{name}, results.{benchmark}"
        try:
            for case, number in _values(benchmark, row, [str(column) for column in columns]):
                failed = {"status": "fail_to_run"} if number is None else {"value": number}
                yield where, {**common, "name": case, "unit": f"{prefix.lower()}_", **failed}
        except Malformed as error:
            yield where, error


def _memory_gb(machine: Record) -> float:
    """0 where it is not known: asv takes what a person writes, such as 7GB."""
    try:
        return round(fields.number(machine.get("ram") or 0, "params.ram") / 1e9, 1)
    except Malformed:
        return 0.0


def _values(benchmark: str, row: Any, columns: list[str]) -> Iterator[tuple[str, Any]]:
    """(benchmark with its parameters, value) of a row; the value of a failure is None."""
    entry: Document = row if isinstance(row, dict) else {"result": row}  # of version 1
    if isinstance(row, list):
        entry = dict(zip(columns, row, strict=False))
    results = entry.get("result")
    if results is None:
        yield benchmark, None
        return
    if not isinstance(results, list):
        results = [results]
    parameters = entry.get("params") or []
    if not isinstance(parameters, list) or not all(isinstance(each, list) for each in parameters):
        raise Malformed("result or params is not a list")
    if math.prod(map(len, parameters)) > MOST_COMBINATIONS:
        raise Malformed(f"params has more than {MOST_COMBINATIONS} combinations")
    combinations = list(itertools.product(*parameters))
    if len(combinations) != len(results):
        raise Malformed(
            f"result has {len(results)} values for {len(combinations)} combinations of parameters"
        )
    for combination, value in zip(combinations, results, strict=True):
        is_skipped = isinstance(value, float) and math.isnan(value)  # by its author
        if not is_skipped:
            name = f"{benchmark}[{', '.join(map(str, combination))}]" if combination else benchmark
            yield name, value
