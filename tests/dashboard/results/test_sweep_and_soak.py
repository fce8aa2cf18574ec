"""The walk through shapes and the soak: as rows, and on the page of a job."""

from typing import Any

import pytest
from django.test import Client

from dashboard.results.core.result_format import parse_result
from dashboard.results.core.shape_sweep import shape_sweep
from dashboard.results.core.soak import soak
from tests.builders import alerting, site
from tests.builders.reading import page_text

SHAPE = {
    "label": "batch 8, length 512",
    "first_ms": 2300.0,
    "later_ms": 2.75,
    "slow_steps": 1,
    "lost_ms": 2297.25,
    "recompiles": 1,
    "graphs": 1,
    "compile_ms": 2290.0,
    "host_mb": 12.19,
    "reasons": ["size mismatch at index 1"],
}
QUIET = {
    **SHAPE,
    "label": "batch 8, length 768",
    "first_ms": 3.1,
    "slow_steps": 0,
    "lost_ms": 0.0,
    "recompiles": 0,
    "graphs": 0,
    "compile_ms": 0.0,
    "host_mb": 0.0,
    "reasons": [],
}
SWEEP = {
    "steps": 10,
    "slow_factor": 3.0,
    "slow_percent": 5.3,
    "shapes": [SHAPE, QUIET],
}
SOAK = {
    "steps": 400,
    "warm_up_steps": 100,
    "part_steps": 30,
    "parts_mb": [100.0 + part for part in range(10)],
}


def soaked(value: float, low: float, high: float, device: str = "cpu") -> dict[str, Any]:
    growth = {"value": value, "low": low, "high": high}
    return {
        "job": {"device": device},
        "soak": SOAK,
        "metrics": {"memory_growth_mb": growth},
    }


def test_row_of_a_shape_says_what_it_cost() -> None:
    sweep = shape_sweep({"sweep": SWEEP})
    assert sweep
    row = sweep.rows[0]
    assert row.first == "2.3 s"
    assert row.later == "2.75 ms"
    assert row.compiling == "2.3 s"
    assert row.slow == "1 of 10"
    assert row.host == "+12.2 MB"


def test_row_of_a_shape_that_cost_nothing_is_empty_there() -> None:
    sweep = shape_sweep({"sweep": SWEEP})
    assert sweep
    row = sweep.rows[1]
    assert row.recompiles == row.graphs == row.compiling == row.slow == row.host == ""


def test_summary_leaves_out_what_the_first_shape_cost() -> None:
    first_is_cold = {"sweep": {**SWEEP, "shapes": [SHAPE, QUIET, SHAPE]}}
    sweep = shape_sweep(first_is_cold)
    assert sweep
    assert sweep.summary.startswith("1 recompile after the first shape took 2.3 s; 5.30% of")


def test_walk_without_a_recompile_says_so() -> None:
    sweep = shape_sweep({"sweep": SWEEP})
    assert sweep
    assert sweep.summary.startswith("No shape was compiled again")


def test_reason_of_a_recompile_comes_with_its_shape() -> None:
    sweep = shape_sweep({"sweep": SWEEP})
    assert sweep
    assert sweep.reasons == [("batch 8, length 512", "size mismatch at index 1")]


def test_growth_is_said_where_the_interval_lies_above_zero() -> None:
    shown = soak(soaked(1.6, 1.4, 1.8))
    assert shown
    assert shown.verdict == "Memory grows: 1.60 MB per 100 steps (95% interval 1.40 to 1.80 MB)."


def test_interval_that_holds_zero_shows_no_growth() -> None:
    shown = soak(soaked(0.2, 0.0, 0.4))
    assert shown
    assert shown.verdict.startswith("No growth is shown: 0.20 MB per 100 steps")


def test_parts_of_a_soak_name_their_steps_after_the_warm_up() -> None:
    shown = soak(soaked(1.0, 1.0, 1.0, device="cuda:0"))
    assert shown
    assert shown.what == "tensors on the GPU"
    assert shown.bars[0].label == "Steps 101 to 130"
    assert shown.bars[-1].label == "Steps 371 to 400"


def test_ordinary_job_has_neither() -> None:
    assert shape_sweep({}) is None
    assert soak({}) is None


@pytest.mark.django_db
def test_document_with_both_fits_the_contract() -> None:
    document = parse_result(site.result(site.queued_job(), sweep=SWEEP, soak=SOAK)).document
    assert (document["sweep"], document["soak"]) == (SWEEP, SOAK)


@pytest.mark.django_db
def test_job_page_shows_the_shapes_and_the_soak(reader: Client) -> None:
    job = alerting.measure({"memory_growth_mb": 0.0}, 0, sweep=SWEEP, soak=SOAK)
    page = page_text(reader.get(f"/jobs/{job.pk}/"))
    assert "batch 8, length 512" in page
    assert 'data-label="slow">1 of 10</td>' in page
    assert "Why it was compiled again (1)" in page
    assert "No growth is shown: 0 MB per 100 steps" in page


@pytest.mark.django_db
def test_job_that_was_asked_for_a_soak_is_marked_as_one(reader: Client) -> None:
    job = alerting.measure({"latency_ms": 2.0}, 0)
    job.spec["measure"] = {"soak_steps": 400}
    job.save()
    page = page_text(reader.get(f"/jobs/{job.pk}/"))
    assert "of 400 steps" in page
