"""A result document as the rows of the job page."""

import json
from pathlib import Path
from typing import Any

import pytest

from dashboard.results.core import report, report_bars

GOLDEN = Path(__file__).parents[2] / "data" / "golden"


def golden(name: str) -> dict[str, Any]:
    document: dict[str, Any] = json.loads((GOLDEN / f"result.{name}.json").read_text())
    return document


def measured(**values: float) -> dict[str, Any]:
    return {"metrics": {key: {"value": value} for key, value in values.items()}}


@pytest.mark.parametrize("name", ["pass", "eager", "unsupported"])
def test_every_metric_of_a_real_result_is_shown_once(name: str) -> None:
    document = golden(name)
    shown: list[str] = []
    for group in report.metric_groups(document):
        shown += [row.metric.key for row in group.rows]
    assert sorted(shown) == sorted(set(document["metrics"]) - {"compression_ratio"})


def test_metric_of_a_newer_suite_is_shown_under_other() -> None:
    groups = report.metric_groups({"metrics": {"brand_new_ms": {"value": 1.0}}})
    assert [group.title for group in groups] == ["Other"]
    assert groups[0].rows[0].metric.label == "Brand new ms"


def test_empty_document_has_nothing_to_show() -> None:
    document = {"outcome": {"status": "crashed"}}
    parts = (
        report.metric_groups,
        report.absent,
        report_bars.starts,
        report_bars.phases,
        report_bars.memory,
        report_bars.stages,
        report.drifts,
        report.environment,
        report.compiler_facts,
        report.distances,
    )
    assert not any(part(document) for part in parts)


def test_what_is_absent_is_shown_with_its_reason() -> None:
    (metric, why), *_ = report.absent({"absent": {"latency_p99_ms": "too few steps"}})
    assert metric.label == "Latency p99"
    assert why == "too few steps"


def test_longest_bar_fills_its_cell() -> None:
    bars = report_bars.memory(measured(peak_memory_gb=2.0, eager_peak_memory_gb=1.0))
    assert [bar.label for bar in bars] == ["Eager peak memory", "Peak memory"]
    assert [bar.share for bar in bars] == [50, 100]


def test_phases_of_the_cold_start_lie_end_to_end() -> None:
    bars = report_bars.starts(
        measured(
            cold_start_s=10.0,
            compile_dynamo_s=2.0,
            compile_inductor_s=5.0,
        )
    )
    assert [(bar.label, bar.offset, bar.share) for bar in bars] == [
        ("Dynamo", 0, 20),
        ("Inductor", 20, 50),
        ("First step and the rest", 70, 30),
        ("Cold start", 0, 100),
    ]


def test_the_timing_of_launches_is_told_apart_in_the_first_step() -> None:
    document = measured(cold_start_s=10.0, compile_dynamo_s=2.0)
    document["compile"] = {"phases_s": {"dynamo": 2.0, "total": 2.0, "autotune": 3.0}}
    bars = report_bars.starts(document)
    assert [(bar.label, bar.offset, bar.share) for bar in bars] == [
        ("Dynamo", 0, 20),
        ("Timing of launches", 20, 30),
        ("First step and the rest", 50, 50),
        ("Cold start", 0, 100),
    ]


def test_starts_without_phases_are_shown_whole_on_one_axis() -> None:
    bars = report_bars.starts(measured(cold_start_s=10.0, warm_start_s=2.5))
    assert [bar.label for bar in bars] == ["Cold start", "Warm start"]
    assert [bar.share for bar in bars] == [100, 25]


def test_phases_longer_than_the_start_stay_within_the_drawing() -> None:
    bars = report_bars.starts(measured(cold_start_s=1.0, compile_dynamo_s=2.0))
    assert max(bar.offset + bar.share for bar in bars) == 100


def test_stages_come_in_the_order_of_a_job() -> None:
    bars = report_bars.stages(
        {
            "wall_s": {
                "sampling": 3.0,
                "import": 1.0,
                "starts": 2.0,
            }
        }
    )
    assert [bar.label for bar in bars] == ["import", "starts", "sampling"]


def test_drift_is_shown_next_to_eagers_own() -> None:
    (row,) = report.drifts(measured(drift=4e-7, eager_drift=2e-7))
    assert row.what == "outputs"
    assert row.compiled == "4.00×10⁻⁷"
    assert row.eager == "2.00×10⁻⁷"
    assert row.ratio == "2.00×"


def test_drift_without_eagers_own_has_no_ratio() -> None:
    (row,) = report.drifts(measured(drift=4e-7))
    assert row.eager == "–"
    assert row.ratio == "–"


def test_distance_that_failed_the_case_is_marked() -> None:
    document = measured(drift=4e-7, drift_gradients=0.58) | {
        "status": "fail_accuracy",
        "message": "The compiled result is further from float64 than allowed: gradients: 0.58",
    }
    assert [row.what for row in report.drifts(document) if row.is_too_far] == ["gradients"]


def test_environment_is_flat() -> None:
    pytorch, *_, settings = report.environment(golden("pass"))
    assert pytorch.title == "PyTorch"
    assert settings.title == "Settings"
    assert ("cuda", "none") in pytorch.rows
    assert ("threads", "1") in settings.rows


def test_frames_that_compiled_are_counted_next_to_those_that_dynamo_met() -> None:
    counters = {"frames.total": 4.0, "frames.ok": 2.0}
    assert report.frames_compiled({"compile": {"counters": counters}}) == "2 of 4"
    assert report.frames_compiled(golden("eager")) == ""
