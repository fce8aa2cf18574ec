"""The default run checks the accuracy of every training case, if nothing else of it."""

import pytest
from django.core.management import call_command

from benchmarks_suite.commands import listing
from benchmarks_suite.configs import CONFIGS
from benchmarks_suite.registry import BENCHMARKS, FIELD, SUITE
from dashboard.catalog.core.plan import BenchmarkFacts, Selection, accuracy_cases, plan_cases
from dashboard.catalog.services.suite_catalog import sync_catalog
from tests.builders import site

FACTS = [
    BenchmarkFacts(each.name, each.family, each.size, each.default_configs, each.mode)
    for each in BENCHMARKS.values()
]
EVERYTHING = Selection()


@pytest.mark.parametrize("size", ["smoke", "standard"])
def test_every_training_case_of_the_suite_is_checked(size: str) -> None:
    cases = plan_cases(EVERYTHING, FACTS, list(CONFIGS), size)
    cases += accuracy_cases(EVERYTHING, FACTS, size)
    checked = {case.benchmark for case in cases if case.config == "inductor"}
    of_size = (each for each in SUITE.values() if each.size == size)
    assert {each.name for each in of_size if each.mode == "training"} <= checked


@pytest.mark.parametrize("size", ["smoke", "standard"])
def test_default_run_measures_and_checks_none_of_the_fields_models(size: str) -> None:
    cases = plan_cases(EVERYTHING, FACTS, list(CONFIGS), size)
    cases += accuracy_cases(EVERYTHING, FACTS, size)
    assert FIELD.keys().isdisjoint(case.benchmark for case in cases)


def test_the_fields_models_are_planned_where_their_family_is_named() -> None:
    selection = Selection(families=("field-timm",))
    names = {case.benchmark for case in plan_cases(selection, FACTS, list(CONFIGS), "smoke")}
    assert len(names) == 36


@pytest.mark.django_db
def test_suite_of_the_field_is_triggered_by_its_name(capsys: pytest.CaptureFixture[str]) -> None:
    site.machine()
    site.track()
    sync_catalog(catalog=listing.catalog())
    options = ("--build=2.13.0", "--machine=cpu-2c", "--suite=field-torchvision", "--dry-run")
    call_command("trigger_run", *options)
    printed = capsys.readouterr().out
    assert "alexnet.smoke.inference.float32.static.b2 inductor" in printed
    assert "52 jobs, about 69 min" in printed


def test_the_case_with_known_wrong_gradients_is_checked_cheaply() -> None:
    cases = accuracy_cases(EVERYTHING, FACTS, "smoke")
    assert "sd_unet.smoke.training.float32.static.b1" in {case.benchmark for case in cases}


def test_selection_that_names_something_checks_nothing_else() -> None:
    assert accuracy_cases(Selection(families=("toy",)), FACTS, "smoke") == []


@pytest.mark.django_db
def test_job_that_checks_accuracy_samples_nothing() -> None:
    training = "sd_unet.smoke.training.float32.static.b1"
    catalog = site.catalog()
    catalog["benchmarks"].append(site.describe(training, "diffusion"))
    sync_catalog(catalog=catalog)
    job = site.run(configs=(), benchmarks=[]).jobs.get(benchmark__name=training)
    assert job.config.name == "inductor"
    assert job.spec["measure"] == {
        "accuracy_only": True,
        "starts": [],
        "keep_code": False,
    }
