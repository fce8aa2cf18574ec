"""The history that github-action-benchmark keeps in a repository: data.js, or the same as JSON.

One file holds every commit: suite -> [{commit, date, benches: [{name, value, unit, …}]}]. The unit
says what a value is: a time, or how often a second. Its `range` is the spread within one process in
words that differ from tool to tool, and is not kept.
"""

import re
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

TOOL = "github-action-benchmark"
MACHINE = "github-actions"  # the file does not say which
ASSIGNMENT = re.compile(rb"\s*window\.BENCHMARK_DATA\s*=")
# How many milliseconds a unit has; "ns/iter" is "ns"
MILLISECONDS = {
    "ns": 1e-6,
    "nsec": 1e-6,
    "us": 1e-3,
    "usec": 1e-3,
    "µs": 1e-3,  # U+00B5, as most keyboards have it
    "μs": 1e-3,  # U+03BC, as most tools write it
    "ms": 1.0,
    "msec": 1.0,
    "s": 1e3,
    "sec": 1e3,
    "seconds": 1e3,
}
PER_SECOND = ("iter/sec", "iter/s", "ops/sec", "ops/s")
EACH = ("/iter", "/op")


def plain_json(body: bytes) -> bytes:
    """What the script assigns; another file as it is."""
    assignment = ASSIGNMENT.match(body)
    if assignment is None:
        return body
    return body[assignment.end() :].strip().removesuffix(b";")


def matches(value: Any) -> bool:
    """Whether a decoded file is such a history."""
    return isinstance(value, dict) and {"lastUpdate", "entries"} <= value.keys()


def read(name: str, value: Record, hints: Hints) -> ParsedFile:
    """Each benchmark of each commit is one result."""
    file = ParsedFile(TOOL)
    with file.part(name):
        for suite, entries in fields.mapping(value["entries"], "entries").items():
            for place, entry in enumerate(fields.items(entries, f"entries.{suite}")):
                where = f"{name}, entries.{suite}[{place}]"
                with file.part(where):
                    _read_entry(where, suite, fields.mapping(entry, "the entry"), hints, file)
    return file


def _read_entry(where: str, suite: str, entry: Record, hints: Hints, file: ParsedFile) -> None:
    commit = fields.mapping(entry.get("commit"), "commit")
    sha = fields.text(commit.get("id"), "commit.id")
    at = fields.moment(entry.get("date"), "date", hints.at, 1e-3)
    for place, value in enumerate(fields.items(entry.get("benches"), "benches")):
        part = f"{where}.benches[{place}]"
        with file.part(part):
            bench = fields.mapping(value, "the bench")
            case = ForeignMeasurement(
                part,
                TOOL,
                fields.text(bench.get("name"), "name"),
                TOOL,
                hints.build or f"git-{sha[:12]}",
                at,
                hints.config or suite or CONFIG,
                suite=suite if hints.config else "",
                git_sha=sha,
                machine=MACHINE,
            )
            unit = str(bench.get("unit") or "")
            metric = _metric(unit, bench.get("value"), hints)
            if metric is None:
                file.left_out[unit or "no unit"] += 1
                continue
            key, amount = metric
            case.metrics = {key: MetricValue(amount, n=1)}
            file.cases.append(case)


def _metric(unit: str, value: Any, hints: Hints) -> tuple[str, float] | None:
    """Our key and the value in our unit; None where nobody said what the unit measures."""
    if unit in hints.metrics:
        key, factor = hints.metrics[unit]
        return key, fields.quantity(value, "value", factor)
    if unit in PER_SECOND:
        rate = fields.quantity(value, "value")
        if rate == 0:
            raise fields.Malformed("value is 0 a second: a benchmark that never ends has no time")
        return "latency_ms", 1000 / rate
    for each in EACH:
        unit = unit.removesuffix(each)
    if unit in MILLISECONDS:
        return "latency_ms", fields.quantity(value, "value", MILLISECONDS[unit])
    return None
