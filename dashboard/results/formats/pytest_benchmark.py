"""pytest-benchmark's JSON (--benchmark-json): the median of each test becomes its latency."""

from datetime import UTC, datetime
from typing import Any

from dashboard.results.formats import fields
from dashboard.results.formats.common import (
    CONFIG,
    ForeignMeasurement,
    Hints,
    MetricValue,
    ParsedFile,
)
from dashboard.results.formats.documents import MOST_SAMPLES
from dashboard.results.formats.fields import Record

TOOL = "pytest-benchmark"
UNVERSIONED = {"", "unversioned", "unknown"}


def matches(value: Any) -> bool:
    """Whether a decoded file is pytest-benchmark's."""
    return isinstance(value, dict) and {"machine_info", "commit_info", "benchmarks"} <= value.keys()


def read(name: str, value: Record, hints: Hints) -> ParsedFile:
    """Each test is one result; a test that cannot be used is refused with its place."""
    file = ParsedFile(f"pytest-benchmark {value.get('version', '')}".strip())
    with file.part(name):
        at = _at(value, hints)
        build = hints.build or _build(fields.mapping(value["commit_info"], "commit_info"))
        machine = fields.mapping(value["machine_info"], "machine_info")
        for place, test in enumerate(fields.items(value["benchmarks"], "benchmarks")):
            where = f"{name}, benchmarks[{place}]"
            with file.part(where):
                case = _case(where, fields.mapping(test, "the test"), build, at, machine)
                case.config = hints.config or CONFIG
                file.cases.append(case)
    return file


def _at(value: Record, hints: Hints) -> datetime:
    """Its time, in UTC where it names no zone, as it was written until version 4."""
    if hints.at:
        return hints.at
    try:
        at = datetime.fromisoformat(fields.text(value.get("datetime"), "datetime"))
    except ValueError as error:
        raise fields.Malformed(f"datetime: {error}") from None
    return at if at.tzinfo else at.replace(tzinfo=UTC)


def _build(commit: Record) -> str:
    sha = str(commit.get("id") or "")
    if sha in UNVERSIONED:
        raise fields.Malformed(
            "commit_info.id names no commit: give the build's label with the import (--build)"
        )
    return f"git-{sha[:12]}"


def _case(
    where: str, test: Record, build: str, at: datetime, machine: Record
) -> ForeignMeasurement:
    stats = fields.mapping(test.get("stats"), "stats")
    cpu = fields.mapping(machine.get("cpu"), "machine_info.cpu")
    median_ms = fields.quantity(stats.get("median"), "stats.median", 1000)
    rounds = fields.whole(stats.get("rounds") or 1, "stats.rounds")
    samples_s = fields.items(stats.get("data") or [], "stats.data")[:MOST_SAMPLES]
    full_name = fields.text(test.get("fullname") or test.get("name"), "fullname")
    return ForeignMeasurement(
        where,
        TOOL,
        full_name,
        str(test.get("group") or "pytest"),
        build,
        at,
        python=str(machine.get("python_version") or ""),
        cpu=str(cpu.get("brand_raw") or machine.get("machine") or "unknown CPU"),
        cores=fields.whole(cpu.get("count") or 1, "machine_info.cpu.count"),
        metrics={"latency_ms": MetricValue(median_ms, n=rounds)},
        samples_ms=[
            fields.quantity(sample, f"stats.data[{place}]", 1000)
            for place, sample in enumerate(samples_s)
        ],
    )
