"""The data.js of github-action-benchmark: a whole history in one file."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from dashboard.results.core.result_format import parse_result
from dashboard.results.formats import Hints, parse_file
from tests.builders.foreign_files import FOLDER, by_model, documents, of, reasons

NAME = "data.js"
FIRST = "Python Benchmark with pytest-benchmark"


def text() -> str:
    return (FOLDER / NAME).read_text()


def entries(changed: dict[str, Any]) -> str:
    """The file with another first entry."""
    value = json.loads(text().partition("=")[2])
    value["entries"][FIRST][0] |= changed
    return json.dumps(value)


def test_each_benchmark_of_each_commit_is_a_result() -> None:
    file = of(NAME, Hints())
    assert file.format == "github-action-benchmark"
    results = [parse_result(document) for document in documents(file)]
    assert len(results) == 4
    first, second = results[:2]
    assert first.benchmark["name"] == second.benchmark["name"]
    assert first.job["build"] == "git-abababababab"
    assert first.planned_at == datetime(2026, 11, 20, 21, 8, 25, 26000, tzinfo=UTC)
    assert first.job["config"] == "python_benchmark_with_pytest_benchmark_d495f4c7"


def test_rate_becomes_the_time_of_one_and_times_become_milliseconds() -> None:
    results = by_model(of(NAME, Hints()))
    assert results["bench_py_test_fib_20"].metrics["latency_ms"].value == pytest.approx(0.560224)
    assert results["benchmarkfib20"].metrics["latency_ms"].value == pytest.approx(0.041653)
    assert results["benchmarkfib10"].metrics["latency_ms"].value == pytest.approx(0.0015)


def test_unit_that_nobody_named_is_left_out() -> None:
    assert of(NAME, Hints()).left_out == {"B/op": 1}


def test_person_can_say_what_a_unit_measures() -> None:
    file = of(NAME, Hints(metrics={"B/op": ("peak_memory_gb", 1e-9)}))
    assert not file.left_out
    memory = by_model(file)["benchmarkfib20_b_op"]
    assert memory.metrics["peak_memory_gb"].value == pytest.approx(16e-9)


def test_value_that_is_no_number_is_refused_with_its_place() -> None:
    text = reasons(NAME, (FOLDER / NAME).read_bytes(), Hints())
    assert text == ("data.js, entries.Go Benchmark[0].benches[2]: value is 'slow', not a number")


def test_the_same_as_json_is_read_alike() -> None:
    body = text().partition("=")[2].encode()
    assert documents(parse_file("bench.json", body)) == documents(of(NAME, Hints()))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"commit": {}}, "commit.id names no commit"),
        ({"date": "yesterday"}, "date is 'yesterday', not a time"),
        ({"date": 12}, "date is '12', not a time since 1990"),
        ({"benches": {}}, "it is {}: expected a list"),
        ({"benches": [{"value": 1, "unit": "s"}]}, "name is '': expected a text"),
        ({"benches": [{"name": "a", "value": -1, "unit": "s"}]}, "it cannot be negative"),
        ({"benches": [{"name": "a", "value": 0, "unit": "iter/sec"}]}, "value is 0 a second"),
    ],
)
def test_entry_is_refused_with_its_field(change: dict[str, Any], why: str) -> None:
    text = reasons("bench.json", entries(change), Hints())
    assert f"bench.json, entries.{FIRST}[0]" in text
    assert why in text
