"""A result document as the rows of the job page."""

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.results.core import report

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def golden(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((GOLDEN / f"result.{name}.json").read_text())
    return document


@pytest.mark.parametrize("name", ["pass", "eager", "unsupported"])
def test_every_metric_of_a_real_result_is_shown_once(name: str) -> None:
    shown = [row.metric.key for group in report.metric_groups(golden(name)) for row in group.rows]
    assert sorted(shown) == sorted(golden(name)["metrics"])


def test_a_metric_of_a_newer_suite_is_shown_under_other() -> None:
    groups = report.metric_groups({"metrics": {"brand_new_ms": {"value": 1.0}}})
    assert [(group.title, group.rows[0].metric.label) for group in groups] == [
        ("Other", "Brand new ms")
    ]


def test_an_empty_document_has_nothing_to_show() -> None:
    document = {"outcome": {"status": "crashed"}}
    parts = (
        report.metric_groups,
        report.absent,
        report.starts,
        report.phases,
        report.memory,
        report.stages,
        report.drifts,
    )
    assert [part(document) for part in parts] == [[]] * len(parts)
    assert (
        report.environment(document)
        == report.compiler_facts(document)
        == report.distances(document)
        == []
    )


def test_what_is_absent_is_shown_with_its_reason() -> None:
    (metric, why), *_ = report.absent({"absent": {"latency_p99_ms": "too few steps"}})
    assert (metric.label, why) == ("Latency p99", "too few steps")


def test_the_longest_bar_fills_its_cell() -> None:
    bars = report.memory(
        {"metrics": {"peak_memory_gb": {"value": 2.0}, "eager_peak_memory_gb": {"value": 1.0}}}
    )
    assert [(bar.label, bar.share) for bar in bars] == [
        ("Eager peak memory", 50),
        ("Peak memory", 100),
    ]


def measured(**values: float) -> dict[str, Any]:
    return {"metrics": {key: {"value": value} for key, value in values.items()}}


def test_the_phases_of_the_cold_start_lie_end_to_end() -> None:
    bars = report.starts(measured(cold_start_s=10.0, compile_dynamo_s=2.0, compile_inductor_s=5.0))
    assert [(bar.label, bar.offset, bar.share) for bar in bars] == [
        ("Dynamo", 0, 20),
        ("Inductor", 20, 50),
        ("First step and the rest", 70, 30),
        ("Cold start", 0, 100),
    ]


def test_starts_without_phases_are_shown_whole_on_one_axis() -> None:
    bars = report.starts(measured(cold_start_s=10.0, warm_start_s=2.5))
    assert [(bar.label, bar.share) for bar in bars] == [("Cold start", 100), ("Warm start", 25)]


def test_phases_longer_than_the_start_stay_within_the_drawing() -> None:
    bars = report.starts(measured(cold_start_s=1.0, compile_dynamo_s=2.0))
    assert max(bar.offset + bar.share for bar in bars) == 100


def test_stages_come_in_the_order_of_a_job() -> None:
    bars = report.stages({"wall_s": {"sampling": 3.0, "import": 1.0, "starts": 2.0}})
    assert [bar.label for bar in bars] == ["import", "starts", "sampling"]


def test_drift_stands_beside_eagers_own() -> None:
    (row,) = report.drifts({"metrics": {"drift": {"value": 4e-7}, "eager_drift": {"value": 2e-7}}})
    assert (row.what, row.compiled, row.eager, row.ratio) == (
        "outputs",
        "4.00×10⁻⁷",
        "2.00×10⁻⁷",
        "2.00×",
    )


def test_drift_without_eagers_own_has_no_ratio() -> None:
    (row,) = report.drifts({"metrics": {"drift": {"value": 4e-7}}})
    assert (row.eager, row.ratio) == ("–", "–")


def test_the_environment_is_flat() -> None:
    sections = {section.title: dict(section.rows) for section in report.environment(golden("pass"))}
    assert sections["PyTorch"]["cuda"] == "none"
    assert sections["Settings"]["threads"] == "1"
