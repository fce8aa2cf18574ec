"""The page of one job: what it says of accuracy, of samples, and of what was not measured."""

import re
from collections.abc import Mapping
from typing import Any

import pytest
from django.test import Client

from dashboard.results.services.ingest import ingest
from tests.builders import site
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
MESSAGE = "Measured, but accuracy was not judged: out of memory"
NO_REFERENCE = {"status": "no_reference", "reference": "float64 could not be had.", "tensors": {}}
FAILED = {"status": "fail_to_compile", "message": "LoweringException: aten.foo"}
SAMPLING = {"stopped_by": "budget", "half_width_percent": 2.5, "pairs": 6}


def job_page(reader: Client, metrics: Mapping[str, float] | None = None, /, **fields: Any) -> str:
    """The page of a job whose result document has these metrics and fields."""
    worker = site.worker()
    job = site.claim(site.queued_job(configs=("inductor",)), worker)
    result = site.result(job, metrics, **fields)
    ingest(job_id=job.pk, worker=worker, body=site.delivery(job, result))
    return text(reader, f"/jobs/{job.pk}/")


def test_accuracy_that_was_judged_names_its_reference(reader: Client) -> None:
    judged = {"status": "pass", "reference": "float64, eager", "tensors": {}}
    page = job_page(reader, accuracy=judged)
    assert "passed, against float64, eager" in page
    assert "accuracy not judged" not in page


@pytest.mark.parametrize("verdict", ["no_reference", "not_judged"])
def test_job_whose_accuracy_was_not_judged_says_so(verdict: str, reader: Client) -> None:
    page = job_page(reader, accuracy=NO_REFERENCE | {"status": verdict}, message=MESSAGE)
    assert "accuracy not judged" in page
    assert MESSAGE in page
    assert "Passed: Measured" not in page


def test_wrong_outputs_are_named(reader: Client) -> None:
    wrong = {"status": "fail", "outputs": 3, "wrong_outputs": ["outputs[1]"], "tensors": {}}
    page = job_page(reader, {"outputs_wrong": 1.0}, accuracy=wrong)
    assert "Wrong outputs</b> (1 of 3): <code>outputs[1]</code>" in page


def test_what_the_compiler_did_not_do_is_no_pressure_of_the_machine(reader: Client) -> None:
    gave_up = {"kind": "recompile_limit", "detail": "'forward' runs in eager since."}
    page = job_page(reader, {"recompiles": 8.0}, marks=[gave_up])
    assert "Dynamo gave up compiling a function: </strong> &#x27;forward&#x27; runs" in page
    assert "The machine did other work" not in page


def test_accuracy_without_a_reference_is_not_against_one(reader: Client) -> None:
    page = job_page(reader, accuracy=NO_REFERENCE)
    assert "Float64 could not be had." in page
    assert ", against" not in page


def test_passed_is_not_among_what_was_not_measured(reader: Client) -> None:
    page = job_page(reader, absent={"passed": "no reference", "drift": "no reference"})
    assert "<small>1 metric</small>" in page


@pytest.mark.parametrize(("eager", "unit"), [({"eager_latency_ms": 3.0}, "pairs"), ({}, "samples")])
def test_samples_are_pairs_where_eager_was_sampled_too(
    eager: dict[str, float], unit: str, reader: Client
) -> None:
    page = job_page(reader, {"latency_ms": 2.0} | eager, sampling=SAMPLING)
    assert f"6 {unit}, ended by the time budget" in page


def test_precision_that_was_aimed_at_is_given_in_brackets(reader: Client) -> None:
    page = job_page(reader, sampling=SAMPLING | {"stopped_by": "target"})
    assert "ended by the precision aimed at (±2.50%)" in " ".join(page.split())


def test_ablation_says_how_each_backend_ended_and_which_stage_is_to_blame(reader: Client) -> None:
    passed = {"status": "pass", "message": ""}
    ablation = {"aot_eager": passed, "inductor": FAILED, "stage": "Inductor"}
    page = job_page(reader, {}, **FAILED, ablation=ablation)
    assert "to blame: Inductor" in page
    assert "<small>LoweringException: aten.foo</small>" in page
    assert re.findall(r'<th scope="row">(aot_eager|inductor)<', page) == ["aot_eager", "inductor"]


def test_ablation_of_an_earlier_suite_has_statuses_alone(reader: Client) -> None:
    ablation = {"aot_eager": "pass", "inductor": "fail_to_compile"}
    page = job_page(reader, {}, **FAILED, ablation=ablation)
    assert '<th scope="row">inductor</th>' in page
    assert "the first backend that fails is to blame" in page


def test_error_of_a_job_without_any_metric_is_shown(reader: Client) -> None:
    error = {"type": "Unsupported", "message": "torchvision::nms is not there"}
    page = job_page(reader, {}, status="unsupported", message="not there", error=error)
    assert "torchvision::nms is not there" in page
    assert "No results" not in page
