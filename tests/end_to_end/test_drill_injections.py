"""Injections of the drill, and what it takes for found."""

from dataclasses import replace
from typing import Any

import pytest

from benchmarks_suite import own
from dashboard.catalog.core.plan import PlanError, check_variant
from tests.end_to_end.drill_injections import INJECTIONS, OWN_MLP, OWN_MODEL, Injection
from tests.end_to_end.drill_site import Finding

COMPILE_WORK = next(each for each in INJECTIONS if each.name == "compile-work")
FOUND = Finding(cause="compiler", state="confirmed", effects={"compile_calls": 5.3})


def refusal(variant: dict[str, Any]) -> str:
    """Return why the site does not measure it; empty where it does."""
    try:
        check_variant(variant)
    except PlanError as error:
        return str(error)
    return ""


@pytest.mark.parametrize("injection", INJECTIONS, ids=lambda injection: injection.name)
def test_the_site_can_measure_each_injection(injection: Injection) -> None:
    assert refusal({"inductor": injection.inductor, "env": injection.env}) == ""


def test_the_site_refuses_what_the_contract_does_not_know() -> None:
    assert "cannot be measured" in refusal({"inductr": {}})


def test_the_drills_own_model_is_read_from_its_file() -> None:
    assert own.find(OWN_MLP, [str(OWN_MODEL)]) is not None


def test_the_pass_makes_as_many_calls_as_the_variant_says(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    import torch._inductor.config

    from benchmarks_suite.harness.call_counts import CallCounter

    # Importing the model gives Inductor its pass: it is taken back after the import. Not by
    # monkeypatch, which would delete the option
    with torch._inductor.config.patch(post_grad_custom_pre_pass=None):
        from tests.end_to_end.drill_model import NeedlessPass

    for name, value in COMPILE_WORK.env.items():
        monkeypatch.setenv(name, value)
    graph: Any = None
    counter = CallCounter()
    with counter:
        NeedlessPass()(graph)
    calls = counter.table().calls
    assert f"{calls['drill_model.py:does_nothing']}" in COMPILE_WORK.env.values()


def test_the_injected_effect_is_found_within_two_points() -> None:
    assert COMPILE_WORK.is_what(FOUND)
    assert not COMPILE_WORK.is_what(replace(FOUND, effects={"compile_calls": 8.0}))


def test_a_metric_that_must_be_silent_is_not_what_was_injected() -> None:
    assert not COMPILE_WORK.is_what(replace(FOUND, effects={**FOUND.effects, "cold_start_s": 12}))


@pytest.mark.parametrize(
    "difference",
    [
        {"cause": "unknown"},
        {"state": "inconclusive"},
        {"others": ("another",)},
    ],
)
def test_another_cause_state_or_alert_is_not_what_was_injected(difference: dict[str, Any]) -> None:
    assert not COMPILE_WORK.is_what(replace(FOUND, **difference))
