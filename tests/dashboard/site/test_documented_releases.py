"""The tables of docs/results.py about starts, where a recording is incomplete."""

import importlib
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from benchmarks_suite.harness import recorded

ROOT = Path(__file__).parents[3]
Groups = dict[tuple[str, str], dict[str, list[dict[str, Any]]]]


@pytest.fixture
def tables(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "docs")
    return importlib.import_module("results_starts")


@pytest.fixture
def two_cases(tables: ModuleType) -> Groups:
    """Two cases in two releases; the second case has another machine in each."""
    recording = ROOT / "tests" / "data" / "compiling_h200" / "starts.jsonl.gz"
    documents = list(recorded.read(recording))
    first, second, *_ = importlib.import_module("results_summary").grouped(documents).items()
    _, by_release = second
    for process in by_release["2.15.0"]:
        process["environment"]["machine"]["device_id"] = "another"
    return dict([first, second])


def test_case_that_no_machine_measured_in_both_releases_has_no_starts(
    tables: ModuleType, two_cases: Groups
) -> None:
    _header, *rows = tables.starts_in_turn(two_cases, two_cases)
    assert len(rows) == 1


def test_case_that_no_machine_measured_in_both_releases_has_no_phases(
    tables: ModuleType, two_cases: Groups
) -> None:
    _header, *rows = tables.phases(two_cases)
    assert len({benchmark for benchmark, *_ in rows}) == 1


def start(cold_s: float) -> dict[str, Any]:
    return {"metrics": {"cold_start_s": {"value": cold_s}}}


def test_pairs_alone_have_an_interval_of_their_own(tables: ModuleType) -> None:
    machine = [(start(10), start(11)), (start(20), start(22)), (start(5), start(5.5))]
    assert tables.pairs_alone([machine]) == ("3 of 3, 1 machine", "+10% (+10 to +10%)")
    wide = [[(start(10), start(20)), (start(10), start(5))], [(start(10), start(10))]]
    assert tables.pairs_alone(wide) == ("1 of 3, 2 machines", "+0% (-82 to +459%)")


def test_two_pairs_alone_have_no_interval(tables: ModuleType) -> None:
    assert tables.pairs_alone([[(start(10), start(9)), (start(9), start(10))]])[1] == "–"
