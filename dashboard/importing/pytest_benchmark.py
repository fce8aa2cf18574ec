"""The JSON that pytest-benchmark writes (--benchmark-json): the median of each test becomes its latency."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from dashboard.importing.form import (
    Hints,
    Malformed,
    Measured,
    Metric,
    Refusal,
    Understood,
    document,
    mapping,
    number,
    text,
    whole,
)

TOOL = "pytest-benchmark"
UNVERSIONED = {"", "unversioned", "unknown"}


def is_one(value: Any) -> bool:
    return isinstance(value, dict) and {"machine_info", "commit_info", "benchmarks"} <= value.keys()


def read(name: str, value: Mapping[str, Any], hints: Hints) -> Understood:
    """Each test is one result; a test that cannot be used is refused with its place."""
    found = Understood(f"pytest-benchmark {value.get('version', '')}".strip())
    try:
        at = _at(value, hints)
        build = hints.build or _build(mapping(value["commit_info"], "commit_info"))
        machine = mapping(value["machine_info"], "machine_info")
        if not isinstance(value["benchmarks"], list):
            raise Malformed("benchmarks is not a list")
    except Malformed as error:
        found.refused.append(Refusal(name, str(error)))
        return found
    for place, test in enumerate(value["benchmarks"]):
        where = f"{name}, benchmarks[{place}]"
        try:
            found.documents.append((where, document(_case(where, mapping(test, "the test"), build, at, machine))))
        except Malformed as error:
            found.refused.append(Refusal(where, str(error)))
    return found


def _at(value: Mapping[str, Any], hints: Hints) -> datetime:
    if "datetime" not in value and hints.at:
        return hints.at
    try:
        at = datetime.fromisoformat(text(value.get("datetime"), "datetime"))
    except ValueError as error:
        raise Malformed(f"datetime: {error}") from None
    if at.tzinfo is None:
        raise Malformed(f"datetime is {value['datetime']!r}: it has no time zone")
    return at


def _build(commit: Mapping[str, Any]) -> str:
    sha = str(commit.get("id") or "")
    if sha in UNVERSIONED:
        raise Malformed("commit_info.id names no commit: give the build's label with the import")
    return f"git-{sha[:12]}"


def _case(where: str, test: Mapping[str, Any], build: str, at: datetime, machine: Mapping[str, Any]) -> Measured:
    stats, cpu = mapping(test.get("stats"), "stats"), mapping(machine.get("cpu"), "machine_info.cpu")
    median = number(stats.get("median"), "stats.median")
    samples = stats.get("data") or []
    if not isinstance(samples, list):
        raise Malformed("stats.data is not a list")
    full_name = text(test.get("fullname") or test.get("name"), "fullname")
    return Measured(
        where, TOOL, full_name, str(test.get("group") or "pytest"), build, at,
        python=str(machine.get("python_version") or ""),
        cpu=str(cpu.get("brand_raw") or machine.get("machine") or "unknown CPU"),
        cores=whole(cpu.get("count") or 1, "machine_info.cpu.count"),
        metrics={"latency_ms": Metric(median * 1000, n=whole(stats.get("rounds") or 1, "stats.rounds"))},
        samples_ms=[number(sample, f"stats.data[{place}]") * 1000 for place, sample in enumerate(samples[:10_000])],
    )  # fmt: skip
