"""Names and numbers of other tools' files: two tests never share a series, and no time is odd."""

import json
import re

import pytest

from dashboard.results.formats import EarlierBenchmark, Hints, ImportedNames, parse_file
from tests.builders.foreign_files import FOLDER, documents, first_record, of, reasons


# --- Names
def pytest_file(*names: str, median: float = 0.001) -> str:
    """Make a file of pytest-benchmark, with tests of these names."""
    value = json.loads((FOLDER / "pytest_benchmark.json").read_text())
    [*_, test] = value["benchmarks"]
    stats = {**test["stats"], "median": median}
    value["benchmarks"] = [
        {
            **test,
            "fullname": name,
            "stats": stats,
        }
        for name in names
    ]
    return json.dumps(value)


def names_of(*names: str, existing: frozenset[str] = frozenset()) -> list[str]:
    """As an import names them; existing: made when only keys were kept."""
    earlier = {name: EarlierBenchmark("", {"imported": ""}) for name in existing}
    body = pytest_file(*names).encode()
    file = parse_file("pytest.json", body, Hints(), ImportedNames(earlier))
    return [document["benchmark"]["name"] for document in documents(file)]


@pytest.mark.parametrize(
    "names",
    [
        ("t.py::pow[3]", "t.py::pow[-3]"),
        ("t.py::add[C]", "t.py::add[C++]"),
        ("..", "🚀"),
        ("Add", "add"),
    ],
)
def test_different_tests_have_different_names(names: tuple[str, str]) -> None:
    together = names_of(*names)
    assert len(set(together)) == 2


def test_name_of_a_test_does_not_depend_on_its_neighbours() -> None:
    alone = names_of("t.py::pow[3]")
    assert names_of("t.py::pow[3]", "t.py::pow[-3]")[:1] == alone
    assert re.fullmatch(r"t_py_pow_3_[0-9a-f]{8}\.imported\..*", alone[0])


def test_name_that_loses_nothing_has_no_digest() -> None:
    assert names_of("add_10") == ["add_10.imported.inference.float32.static.b1"]


def test_test_that_was_imported_before_keeps_its_name() -> None:
    existing = frozenset(["t_py_pow_3.imported.inference.float32.static.b1"])
    assert names_of("t.py::pow[3]", existing=existing) == [*existing]
    assert existing.isdisjoint(names_of("t.py::pow[3]", "t.py::pow[-3]", existing=existing))


def test_parameters_of_asv_that_read_alike_stay_apart() -> None:
    value = json.loads((FOLDER / "asv.json").read_text())
    value["results"] = {"a.time_x": [[1.0, 2.0], [["a, b", "a"], ["c"]]]}
    value["results"]["a.time_x_a"] = [[3.0], [["b_c"]]]
    file = parse_file("asv.json", json.dumps(value).encode())
    assert len({document["benchmark"]["name"] for document in documents(file)}) == 3


# --- Numbers
@pytest.mark.parametrize(
    ("median", "why"), [(-1.0, "it cannot be negative"), (1e308, "too large for our unit")]
)
def test_impossible_time_is_refused_with_its_field(median: float, why: str) -> None:
    text = reasons("pytest.json", pytest_file("add", median=median), Hints())
    assert f"stats.median is {median!r}: {why}" in text


def test_negative_latency_of_a_record_is_refused() -> None:
    record = first_record()
    record["metric"] = {"name": "latency_ms", "benchmark_values": [-1.0]}
    assert "benchmark_values[0] is -1.0: it cannot be negative" in reasons(
        "v3.json", json.dumps(record)
    )


def test_asvs_machine_name_is_kept() -> None:
    environments = [document["environment"] for document in documents(of("asv.json", Hints()))]
    assert {environment["machine"]["name"] for environment in environments} == {"vm"}
