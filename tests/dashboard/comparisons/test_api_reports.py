"""Two builds in the API: what is stored of them, a part of it, and what measuring would cost."""

from typing import Any

import pytest

from dashboard.models import Comparison
from tests.builders import comparisons, site
from tests.builders.api import Caller, token

pytestmark = pytest.mark.django_db
SIDES: dict[str, Any] = {"base": "2.11.0", "new": "2.13.0", "machine": "h100"}


@pytest.fixture
def caller() -> Caller:
    return Caller(token("read"))


def test_stored_results_answer_whether_to_move(two_releases: None, caller: Caller) -> None:
    report = caller.get("compare", **SIDES)
    assert report["answer"] == "mixed, certain"
    assert report["models"]["gpt2 inference"]["answer"] == "mixed, certain"


def test_model_narrows_what_is_shown_and_not_the_answer(two_releases: None, caller: Caller) -> None:
    report = caller.get("compare", **SIDES, model="gpt2")
    assert report["answer"] == "mixed, certain"
    assert {name.split()[0] for name in report["models"]} == {"gpt2"}
    assert {case["benchmark"].split(".")[0] for case in report["cases"]} == {"gpt2"}


def test_changed_cases_have_interval_and_grade(two_releases: None, caller: Caller) -> None:
    cases = caller.get("compare", **SIDES, show="changed")["cases"]
    assert {case["grade"] for case in cases} <= {"certain", "likely"}
    assert {case["verdict"] for case in cases} == {"worse", "better"}
    for case in cases:
        if case["low_percent"] is not None:
            assert case["low_percent"] <= case["change_percent"] <= case["high_percent"]


def test_misspelt_model_is_refused_with_a_suggestion(two_releases: None, caller: Caller) -> None:
    refused = caller.get("compare", expect=422, **SIDES, model="gtp2")
    assert "Did you mean gpt2" in refused["detail"]


def test_build_that_was_not_measured_is_not_found(two_releases: None, caller: Caller) -> None:
    refused = caller.get("compare", expect=404, **(SIDES | {"new": "9.9.9"}))
    assert "was not measured on h100" in refused["detail"]


def test_comparison_costs_its_jobs_and_their_time(caller: Caller) -> None:
    comparisons.three_builds()
    body = {"base": "2.11.0", "new": "2.13.0", "benchmarks": [site.MLP], "repeats": 3}
    plan = caller.post("comparisons/plan", body)
    assert plan["base"] == comparisons.BASE
    assert plan["cases"] == [[site.MLP, "eager"], [site.MLP, "inductor"]]
    assert plan["expected_s"] == plan["jobs"] * 80
    assert not Comparison.objects.exists()


def test_plan_has_as_many_jobs_as_the_comparison(caller: Caller) -> None:
    comparisons.three_builds()
    body = {"base": "2.11.0", "new": "2.13.0", "benchmarks": [site.MLP], "repeats": 3}
    plan = caller.post("comparisons/plan", body)
    started = Caller(token()).post("comparisons", body, expect=201)
    assert plan["jobs"] == started["jobs"]["total"]


def test_run_costs_its_jobs_and_their_time(caller: Caller) -> None:
    site.worker()
    site.track()
    plan = caller.post("runs/plan", {"build": site.BUILD, "families": ["llm"]})
    assert plan["jobs"] == 2
    assert plan["expected_s"] == 160
