"""The results of a file are its distinct identities: property over generated files."""

import csv
import io
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from dashboard.results.formats import Hints, ParsedFile, parse_file, parse_table

DAY = datetime(2026, 11, 1, tzinfo=UTC)
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
File = tuple[str, str, datetime | None]  # name, content, and a time that it lacks
Writer = Callable[[Iterable[Identity]], Sequence[File]]


def at(day: int) -> datetime:
    return DAY + timedelta(days=day)


def history(identities: Iterable[Identity]) -> list[File]:
    """One file of github-action-benchmark: names in suites in commits."""
    entries: dict[str, list[Any]] = {}
    for number, (name, suite, day) in enumerate(identities):
        bench = {"name": name, "value": number + 1, "unit": "ms"}
        entry = {"commit": {"id": f"{day:040x}"}, "date": at(day).timestamp() * 1000}
        entries.setdefault(suite, []).append(entry | {"tool": "go", "benches": [bench]})
    return [("data.json", json.dumps({"lastUpdate": 0, "entries": entries}), None)]


def records(identities: Iterable[Identity]) -> list[File]:
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
    return [("v3.json", "\n".join(lines), None)]


def by_day(identities: Iterable[Identity]) -> Iterator[tuple[int, list[tuple[float, str, str]]]]:
    """For each day: milliseconds, name and config."""
    for day in range(3):
        rows = [(number + 1.0, *each) for number, each in enumerate(identities) if each[2] == day]
        yield day, [(value, name, config) for value, name, config, _ in rows]


def asv(identities: Iterable[Identity]) -> list[File]:
    """A file of asv a commit and environment."""
    files: list[File] = []
    for day, rows in by_day(identities):
        for environment in {environment for *_, environment in rows}:
            results = {f"s.time_{name}": value for value, name, own in rows if own == environment}
            file: dict[str, Any] = {
                "commit_hash": f"{day:040x}",
                "env_name": environment,
                "params": {},
            }
            file |= {"date": at(day).timestamp() * 1000, "results": results, "version": 1}
            files.append(("r/commit-env.json", json.dumps(file), None))
    return files


def own(identities: Iterable[Identity]) -> list[File]:
    """One CSV by a mapping."""
    text = io.StringIO()
    writer = csv.writer(text)
    writer.writerow(["name", "config", "build", "day", "latency_ms"])
    for number, (name, config, day) in enumerate(identities):
        writer.writerow([name, config, f"b{day}", at(day).isoformat(), number + 1])
    return [("own.csv", text.getvalue(), None)]


def own_json(identities: Iterable[Identity]) -> list[File]:
    """One JSON by a mapping, with a value a record."""
    rows = []
    for number, (name, config, day) in enumerate(identities):
        row = {"name": name, "config": config, "build": f"b{day}", "day": at(day).isoformat()}
        rows.append(row | {"latency_ms": number + 1})
    return [("own.json", json.dumps({"rows": rows}), None)]


def runners(identities: Iterable[Identity]) -> list[File]:
    """A CSV of benchmarks/dynamo for each config and day."""
    files: list[File] = []
    for day, rows in by_day(identities):
        for config in {config for *_, config in rows}:
            lines = ["dev,name,batch_size,speedup,abs_latency"]
            lines += [f"cuda,{name},1,1.5,{value}" for value, name, own in rows if own == config]
            name = f"{config}_timm_amp_inference_cuda_performance.csv"
            files.append((name, "\n".join([*lines, ""]), at(day)))
    return files


def one_a_day(body: Callable[[int, list[tuple[float, str]]], Any]) -> Writer:
    """A JSON file a day, whose format knows one name: config::name."""

    def write(identities: Iterable[Identity]) -> list[File]:
        files: list[File] = []
        for day, rows in by_day(identities):
            values = [(value, f"{config}::{name}") for value, name, config in rows]
            files.append(("day.json", json.dumps(body(day, values)), at(day)))
        return files

    return write


def pytest_benchmark(day: int, values: list[tuple[float, str]]) -> Any:
    tests = [{"fullname": name, "stats": {"median": value / 1000}} for value, name in values]
    commit = {"id": f"{day:040x}"}
    file = {"machine_info": {}, "commit_info": commit, "benchmarks": tests}
    return file | {"datetime": at(day).isoformat()}


def google_benchmark(day: int, values: list[tuple[float, str]]) -> Any:
    rows = [{"name": name, "real_time": value, "time_unit": "ms"} for value, name in values]
    return {"context": {"date": at(day).isoformat()}, "benchmarks": rows}


def hyperfine(day: int, values: list[tuple[float, str]]) -> Any:
    return {"results": [{"command": name, "median": value} for value, name in values]}


def userbenchmark(day: int, values: list[tuple[float, str]]) -> Any:
    metrics = {f"{name}-latency": value for value, name in values}
    return {"name": "n", "environ": {"pytorch_git_version": f"{day:040x}"}, "metrics": metrics}


def read(files: Sequence[File], mapping: str) -> Iterator[ParsedFile]:
    table = parse_table(mapping) if mapping else None
    for name, text, moment in files:
        hints = Hints("2.13.0" if moment else "", moment, machine="box", table=table)
        yield parse_file(name, text.encode(), hints)


UNIQUE, REPEATS = "names are unique by themselves", "a case may be there several times"


@pytest.mark.parametrize(
    ("write", "mapping", "repeats"),
    [
        (history, "", ""),
        (records, "", ""),
        (asv, "", UNIQUE),
        (own, TABLE, ""),
        (own_json, f'rows = "rows.[]"\n{TABLE}', ""),
        (runners, "", REPEATS),
        (one_a_day(pytest_benchmark), "", ""),
        (one_a_day(google_benchmark), "", REPEATS),
        (one_a_day(hyperfine), "", ""),
        (one_a_day(userbenchmark), "", UNIQUE),
    ],
)
@given(identities=IDENTITIES)
def test_results_are_the_distinct_identities(
    write: Writer, mapping: str, repeats: str, identities: list[Identity]
) -> None:
    given_once = identities if not repeats else list(dict.fromkeys(identities))
    files = list(read(write(given_once if repeats == UNIQUE else identities), mapping))
    documents = [document for file in files for _, document in file.documents]
    results = {
        (document["benchmark"]["name"], document["job"]["config"], document["started_at"])
        for document in documents
    }
    sole = [each for each in given_once if given_once.count(each) == 1]
    assert len(results) == len(sole)
    assert len(documents) == len(identities if repeats == REPEATS else sole)
    assert bool(len(sole) < len(set(identities))) == any(file.refused for file in files)
