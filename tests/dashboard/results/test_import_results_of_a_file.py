"""The results of a file are its distinct identities: property over generated files."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.results.formats import Hints, ParsedFile, parse_file, parse_table

DAY = datetime(2026, 11, 1, tzinfo=UTC)
HINTS = Hints("", None, "box")
TABLE = """
benchmark = "{name}"
config = "{config}"
build = "{build}"
time = "{day}"
metrics = [{name = "latency_ms", metric = "latency_ms"}]
"""
# Signs, cases, scripts and lengths that a key loses
NAMES = st.sampled_from(
    [
        "a",
        "A",
        "a b",
        "a-b",
        "a_b",
        "C++",
        "C#",
        "C",
        "盒",
        "箱",
        "x" * 90,
        "x" * 91,
        "p[3]",
        "p[-3]",
    ]
)
# (name, config, day)
IDENTITIES = st.lists(st.tuples(NAMES, NAMES, st.integers(0, 2)), min_size=1, max_size=12)
Identity = tuple[str, str, int]


def at(day: int) -> datetime:
    return DAY + timedelta(days=day)


def history(identities: Iterable[Identity]) -> list[tuple[str, str]]:
    """One file of github-action-benchmark: names in suites in commits."""
    entries: dict[str, list[Any]] = {}
    for number, (name, suite, day) in enumerate(identities):
        bench = {"name": name, "value": number + 1, "unit": "ms"}
        entry = {"commit": {"id": f"{day:040x}"}, "date": at(day).timestamp() * 1000}
        entries.setdefault(suite, []).append(entry | {"tool": "go", "benches": [bench]})
    return [("data.json", json.dumps({"lastUpdate": 0, "entries": entries}))]


def records(identities: Iterable[Identity]) -> list[tuple[str, str]]:
    """One file of v3 records: models with backends."""
    lines = []
    for number, (name, backend, day) in enumerate(identities):
        record = {
            "timestamp": at(day).timestamp(),
            "head_sha": f"{day:040x}",
            "benchmark": {"name": "suite"},
            "model": {"name": name, "backend": backend},
            "metric": {"name": "latency_ms", "benchmark_values": [number + 1]},
        }
        lines.append(json.dumps(record))
    return [("v3.json", "\n".join(lines))]


def asv(identities: Iterable[Identity]) -> list[tuple[str, str]]:
    """A file of asv a commit and environment."""
    files: dict[tuple[str, int], dict[str, Any]] = {}
    for number, (name, environment, day) in enumerate(identities):
        results = files.setdefault((environment, day), {})
        results.setdefault(f"s.time_{name}", []).append(number + 1.0)
    return [
        (
            f"r/{number}.json",
            json.dumps(
                {
                    "commit_hash": f"{day:040x}",
                    "env_name": environment,
                    "date": at(day).timestamp() * 1000,
                    "params": {},
                    "results": {name: values[0] for name, values in results.items()},
                    "version": 1,
                }
            ),
        )
        for number, ((environment, day), results) in enumerate(files.items())
    ]


def own(identities: Iterable[Identity]) -> list[tuple[str, str]]:
    """One CSV by a mapping."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["name", "config", "build", "day", "latency_ms"])
    for number, (name, config, day) in enumerate(identities):
        writer.writerow([name, config, f"b{day}", at(day).isoformat(), number + 1])
    return [("own.csv", text.getvalue())]


def read(files: Sequence[tuple[str, str]], mapping: str) -> list[ParsedFile]:
    table = parse_table(mapping) if mapping else None
    hints = Hints(machine="box", table=table)
    return [parse_file(name, text.encode(), hints) for name, text in files]


@pytest.mark.parametrize(
    ("write", "mapping"), [(history, ""), (records, ""), (asv, ""), (own, TABLE)]
)
@given(identities=IDENTITIES)
def test_results_are_the_distinct_identities(
    write: Callable[[Iterable[Identity]], list[tuple[str, str]]],
    mapping: str,
    identities: list[Identity],
) -> None:
    is_object = write is asv  # whose names are unique by themselves
    files = read(write(dict.fromkeys(identities) if is_object else identities), mapping)
    results = {
        (document["benchmark"]["name"], document["job"]["config"], document["started_at"])
        for file in files
        for _, document in file.documents
    }
    sole = [each for each in set(identities) if is_object or identities.count(each) == 1]
    assert len(results) == len(sole)
    assert sum(len(file.documents) for file in files) == len(sole)
    assert bool(len(sole) < len(set(identities))) == any(file.refused for file in files)
