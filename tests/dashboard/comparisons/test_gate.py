"""The gate's answer: passed, a regression, or not known yet and what would settle it."""

import re
from collections.abc import Sequence

import pytest

from dashboard.comparisons.core.gate import (
    MAX_PROCESSES,
    Gate,
    advice,
    decide,
    document,
    markdown,
    sentence,
)
from dashboard.comparisons.core.levels import level_of
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key
from dashboard.comparisons.core.metric_effects import CaseSamples

NOISE = (0.999, 1.0, 1.001, 1.0005, 0.9995)


def samples(values: Sequence[float]) -> CaseSamples:
    level = level_of(values) if min(values) > 0 else None
    return CaseSamples(1, (), level, len(values), min(values), max(values), values[0])


def side(
    failing: str = "", names: Sequence[str] = ("a", "b"), **values: Sequence[float]
) -> dict[Key, CaseMeasurements]:
    """Models with these values, one from each process, by metric; `failing` names one that only
    fails.
    """
    measurements = {}
    for place, name in enumerate(names):
        case = ComparedCase(f"{name}.smoke", "inductor", name, "toy", "inference", (place, 0))
        measured = CaseMeasurements(case)
        if name == failing:
            measured.failures = {"oom": 1}
        else:
            measured.samples = {metric: [samples(each)] for metric, each in values.items()}
        measurements[case.key] = measured
    return measurements


def latency(middle: float, processes: int = 5, spread: float = 1.0) -> list[float]:
    return [middle * (1 + (noise - 1) * spread) for noise in NOISE[:processes]]


def gate_of(new: Sequence[float], base: Sequence[float] = latency(10)) -> Gate:
    """Of the latency alone."""
    return decide(side(latency_ms=base), side(latency_ms=new), ["latency_ms"])


def test_change_within_the_threshold_passes() -> None:
    gate = gate_of(latency(10.05))
    assert gate.state == "passed"
    assert gate.exit_code == 0
    assert gate.unchanged == 2
    assert advice(gate) == ""


def test_improvement_passes() -> None:
    gate = gate_of(latency(9))
    assert gate.state == "passed"
    assert len(gate.improvements) == 2


def test_significant_loss_is_a_regression() -> None:
    gate = gate_of(latency(11))
    assert gate.state == "regression"
    assert gate.exit_code == 1
    assert len(gate.regressions) == 2


def test_case_that_only_fails_now_is_a_regression() -> None:
    gate = decide(side(latency_ms=latency(10)), side("b", latency_ms=latency(10)), ["latency_ms"])
    assert gate.state == "regression"
    assert gate.broken == ["b.smoke inductor (oom)"]


def test_case_that_fails_on_both_sides_is_reported_and_decides_nothing() -> None:
    both = side("b", latency_ms=latency(10))
    gate = decide(both, both, ["latency_ms"])
    assert gate.state == "passed"
    assert [out.why for out in gate.absent] == ["failed"]


def test_large_change_in_one_process_each_is_not_known() -> None:
    gate = gate_of(latency(11, processes=1), latency(10, processes=1))
    assert gate.state == "unknown"
    assert gate.exit_code == 3
    assert gate.processes == 3
    assert "`--repeats 3`" in advice(gate)


def test_wide_spread_is_not_known_and_says_how_many_processes_should_settle_it() -> None:
    gate = gate_of(latency(10, spread=30), latency(10, spread=30))
    assert gate.state == "unknown"
    assert gate.processes is not None
    assert 5 < gate.processes <= MAX_PROCESSES


def test_advised_number_of_processes_settles_it() -> None:
    values = latency(10, spread=30)
    needed = gate_of(values, values).processes
    assert needed is not None
    more = (values * needed)[:needed]
    assert gate_of(more, more).state == "passed"


def test_change_on_the_threshold_needs_more_than_is_worth_it() -> None:
    noise = (0.99, 1.0, 1.01)
    gate = gate_of([10.2 * factor for factor in noise], [10 * factor for factor in noise])
    assert gate.state == "unknown"
    assert gate.processes is None
    assert "quieten the machine" in advice(gate)


@pytest.mark.parametrize(
    ("metric", "base", "new", "state"),
    [
        ("peak_memory_gb", 1.0, 1.1, "regression"),
        ("drift", 1e-3, 1.3e-3, "regression"),
        ("drift_loss", 1e-5, 2e-5, "unknown"),
    ],
)
def test_one_process_is_enough_for_what_repeats_exactly(
    metric: str, base: float, new: float, state: str
) -> None:
    before = side("", ("a", "b"), **{metric: [base]})
    after = side("", ("a", "b"), **{metric: [new]})
    assert decide(before, after, [metric]).state == state


def test_memory_too_small_to_be_measured_decides_nothing() -> None:
    base = side(latency_ms=latency(10), peak_memory_gb=[-1e-4, 1e-4])
    new = side(latency_ms=latency(10), peak_memory_gb=[2e-4, 1e-4])
    assert decide(base, new).state == "passed"


def test_metric_that_no_case_has_is_not_known() -> None:
    gate = decide(side(latency_ms=latency(10)), side(latency_ms=latency(10)), ["drift"])
    assert gate.state == "unknown"
    assert advice(gate).startswith("No case was measured on both sides: see wh")


def test_metric_that_only_some_cases_have_is_judged_where_it_is() -> None:
    with_drift = side(names="b", latency_ms=latency(10), drift=[1e-3])
    base = {**side(names="a", latency_ms=latency(10)), **with_drift}
    assert decide(base, base).state == "passed"


def test_case_that_one_side_lacks_is_not_known() -> None:
    base, new = side(latency_ms=latency(10)), side(names="a", latency_ms=latency(10))
    gate = decide(base, new, ["latency_ms"])
    assert gate.state == "unknown"
    assert gate.absent[0].text == "not measured on new"


def test_markdown_has_a_table_for_each_kind_of_finding() -> None:
    gate = gate_of(latency(11))
    text = markdown(gate, base="old", new="new", machine="cpu-2c", address="https://there")
    row = r"\| a.smoke \| inductor \| Latency \| 10.0+ ms \| 11.0+ ms \| 10.0 % slower"
    assert text.startswith("### old → new on cpu-2c: regression\n\nRegression: 2 worse.")
    assert "**Worse**" in text
    assert re.search(row, text)
    assert text.endswith("The whole report: https://there\n")


@pytest.mark.parametrize(
    ("new", "words"), [(10.0, "No significant regression: 2 unchanged."), (9.0, "2 better")]
)
def test_sentence_sums_the_answer_up(new: float, words: str) -> None:
    assert words in sentence(gate_of(latency(new)))


def test_document_has_every_number_of_a_finding() -> None:
    [first, _] = document(gate_of(latency(11)))["regressions"]
    assert first["metric"] == "latency_ms"
    assert first["unit"] == "ms"
    assert round(first["percent"]) == 10
    assert first["new_processes"] == 5
    assert first["low_percent"] < first["percent"] < first["high_percent"]
