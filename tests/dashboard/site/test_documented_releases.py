"""The tables of docs/results.py that compare releases, where a recording is incomplete."""

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
    return importlib.import_module("results_releases")


@pytest.fixture
def two_cases(tables: ModuleType) -> Groups:
    """Two cases in two releases; the second case has another machine in each."""
    documents = list(recorded.read(ROOT / "tests" / "data" / "h200_starts"))
    first, second, *_ = tables.grouped(documents).items()
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
