"""The gate's answer: nothing got worse, worse, or unclear and what would decide it."""

import re
from collections.abc import Sequence

import pytest

from dashboard.comparisons.core.gate import (
    Gate,
    advice,
    decide,
    document,
    markdown,
    rows_with_graph_breaks,
    sentence,
    with_graph_breaks,
)
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Key
from tests.builders.compared import samples

B = Key("b.smoke", "inductor")
NOISE = (0.999, 1.0, 1.001, 1.0005, 0.9995, 1.0)


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
            measured.failures = {"fail_to_run": 1}
        else:
            measured.samples = {metric: [samples(each)] for metric, each in values.items()}
        measurements[case.key] = measured
    return measurements


def latency(middle: float, processes: int = 6, spread: float = 1.0) -> list[float]:
    """Make latencies around the middle; those of other processes where it is not 10."""
    noises = NOISE if middle == 10 else NOISE[::-1]
    return [middle * (1 + (noise - 1) * spread) for noise in noises[:processes]]


def gate_of(new: Sequence[float], base: Sequence[float] = latency(10)) -> Gate:
    """Decide the gate on the latency alone."""
    return decide(side(latency_ms=base), side(latency_ms=new), ["latency_ms"])


def test_change_within_the_threshold_passes() -> None:
    gate = gate_of(latency(10.05))
    assert gate.exit_code == 0
    assert document(gate)["same"] == 2
    assert advice(gate) == ""


def test_improvement_passes() -> None:
    gate = gate_of(latency(9))
    assert gate.exit_code == 0
    assert document(gate)["verdict"] == "better"


def test_certain_loss_is_worse() -> None:
    gate = gate_of(latency(11))
    assert gate.exit_code == 1
    assert len(document(gate)["worse"]) == 2


def test_case_that_only_fails_now_is_worse() -> None:
    gate = decide(side(latency_ms=latency(10)), side("b", latency_ms=latency(10)), ["latency_ms"])
    assert gate.exit_code == 1
    assert document(gate)["broken"] == ["b.smoke inductor (failed to run)"]


def test_case_that_fails_on_both_sides_is_reported_and_decides_nothing() -> None:
    both = side("b", latency_ms=latency(10))
    gate = decide(both, both, ["latency_ms"])
    assert gate.exit_code == 0
    assert [out.why for out in gate.judgement.absent] == ["failed"]


def without_library(why: str = "No module named 'timm'") -> dict[Key, CaseMeasurements]:
    """A side whose model b lacks a library."""
    measured = side("b", latency_ms=latency(10))
    measured[B].failures, measured[B].messages = {"unsupported": 3}, {"unsupported": why}
    return measured


def test_case_that_lacks_a_library_was_not_measured() -> None:
    gate = decide(side(latency_ms=latency(10)), without_library(), ["latency_ms"])
    assert gate.exit_code == 2
    assert gate.not_measured == ["b.smoke inductor on the new side: No module named 'timm'"]
    assert "No module named 'timm'" in markdown(gate, base="a", new="b", machine="m")


def test_base_that_lacks_a_library_was_not_measured_either() -> None:
    gate = decide(without_library(), side(latency_ms=latency(10)), ["latency_ms"])
    assert gate.exit_code == 2


def test_regression_of_another_case_stays_one() -> None:
    gate = decide(side(latency_ms=latency(5)), without_library(), ["latency_ms"])
    assert gate.exit_code == 1


def test_case_that_lacks_a_library_on_both_sides_decides_nothing() -> None:
    assert decide(without_library(), without_library(), ["latency_ms"]).exit_code == 0


def test_nothing_measured_on_either_side_is_not_possible() -> None:
    only_b = {B: without_library()[B]}
    assert decide(only_b, only_b, ["latency_ms"]).exit_code == 2


def graph_breaks(*places: str) -> dict[str, list[dict[str, str]]]:
    breaks = [{"reason": "call of\n  print", "location": place} for place in places]
    return {"graph_breaks": breaks}


def test_new_graph_breaks_are_reported_with_their_places() -> None:
    base, new = side(graph_breaks=[0.0, 0.0]), side(graph_breaks=[1.0, 1.0])
    gate = decide(base, new, ["graph_breaks"])
    assert [row.case.key for row in rows_with_graph_breaks(gate)] == [*base]
    gate = with_graph_breaks(gate, {B: (graph_breaks(), graph_breaks("after.py:7 in forward"))})
    line = "- b.smoke inductor: `after.py:7 in forward`: call of print"
    assert line in markdown(gate, base="a", new="b", machine="m").splitlines()
    [document_of_break] = document(gate)["new_graph_breaks"]
    assert document_of_break["location"] == "after.py:7 in forward"


def test_graph_break_that_only_moved_is_not_a_new_one() -> None:
    sections = (
        graph_breaks("before.py:7 in forward"),
        graph_breaks("after.py:9 in forward", "after.py:12 in loss"),
    )
    gate = with_graph_breaks(gate_of(latency(10)), {B: sections})
    assert [each["location"] for each in gate.graph_breaks] == ["after.py:12 in loss"]


def test_large_change_in_one_process_each_is_unclear() -> None:
    gate = gate_of(latency(11, processes=1), latency(10, processes=1))
    assert gate.exit_code == 3
    assert gate.pairs_needed == 3
    assert "`--repeats 3`" in advice(gate)


def test_change_of_few_pairs_is_likely_and_neither_passes_nor_fails() -> None:
    gate = gate_of(latency(11, processes=3), latency(10, processes=3))
    assert gate.exit_code == 3
    assert [each["grade"] for each in document(gate)["worse"]] == ["likely"] * 2
    assert gate.pairs_needed == 6
    assert gate.judgement.to_measure_again() == {("a.smoke", "inductor"), ("b.smoke", "inductor")}


def test_three_pairs_without_a_change_pass() -> None:
    assert gate_of(latency(10.05, processes=3), latency(10, processes=3)).exit_code == 0


@pytest.mark.parametrize(
    ("status", "jobs", "code"),
    [
        ("timeout", 1, 3),
        ("timeout", 3, 1),
        ("crashed", 1, 3),
        ("fail_accuracy", 1, 1),
    ],
)
def test_one_timeout_or_crash_proves_nothing(status: str, jobs: int, code: int) -> None:
    new = side("b", latency_ms=latency(10))
    new[Key("b.smoke", "inductor")].failures = {status: jobs}
    assert decide(side(latency_ms=latency(10)), new, ["latency_ms"]).exit_code == code


def test_wrong_results_in_some_processes_do_not_pass() -> None:
    base, new = side(latency_ms=latency(10)), side(latency_ms=latency(10))
    new[Key("b.smoke", "inductor")].failures = {"fail_accuracy": 2}
    gate = decide(base, new, ["latency_ms"])
    assert gate.exit_code == 3
    assert [failure.text for failure in gate.judgement.undecided] == [
        "b.smoke inductor (wrong results in 2 of 8 processes)"
    ]
    assert decide(new, new, ["latency_ms"]).exit_code == 0


NOISY = (9.78, 10.22, 10.0) * 2


def test_wide_spread_is_unclear_and_says_how_many_pairs_should_decide() -> None:
    gate = gate_of(NOISY, NOISY[::-1])
    assert gate.exit_code == 3
    assert gate.pairs_needed == 20


def test_advised_number_of_pairs_decides() -> None:
    assert gate_of((NOISY * 4)[:20], (NOISY[::-1] * 4)[:20]).exit_code == 0


def test_spread_that_no_affordable_number_decides_says_what_would_be_left() -> None:
    noise = (0.8, 1.0, 1.2) * 2
    gate = gate_of([10 * factor for factor in noise], [10 * factor for factor in noise[::-1]])
    assert gate.exit_code == 3
    assert gate.pairs_needed is None
    assert "20 pairs would not decide: the change may be up to" in advice(gate)


@pytest.mark.parametrize(
    ("metric", "base", "new", "code"),
    [
        ("peak_memory_gb", 1.0, 1.1, 1),
        ("drift", 1e-3, 1.3e-3, 1),
        ("compile_calls", 9.02e6, 9.22e6, 1),
        ("drift_loss", 1e-5, 2e-5, 3),
    ],
)
def test_two_pairs_are_enough_for_what_repeats_exactly(
    metric: str, base: float, new: float, code: int
) -> None:
    before = side("", ("a", "b"), **{metric: [base, base]})
    after = side("", ("a", "b"), **{metric: [new, new]})
    assert decide(before, after, [metric]).exit_code == code


@pytest.mark.parametrize(("apart", "code"), [(1.0012, 1), (1.004, 3)])
def test_compile_calls_decide_with_two_pairs_where_these_agree(apart: float, code: int) -> None:
    before = side("", ("a", "b"), compile_calls=[9e6, 9e6 * apart])
    after = side("", ("a", "b"), compile_calls=[12e6, 12e6])
    assert decide(before, after, ["compile_calls"]).exit_code == code


def test_memory_too_small_to_be_measured_decides_nothing() -> None:
    base = side(latency_ms=latency(10), peak_memory_gb=[-1e-4, 1e-4])
    new = side(latency_ms=latency(10), peak_memory_gb=[2e-4, 1e-4])
    assert decide(base, new).exit_code == 0


def test_metric_that_no_case_has_is_unclear() -> None:
    gate = decide(side(latency_ms=latency(10)), side(latency_ms=latency(10)), ["drift"])
    assert gate.exit_code == 3
    assert advice(gate).startswith("No case was measured on both sides: see wh")


def test_metric_that_only_some_cases_have_is_judged_where_it_is() -> None:
    with_drift = side(names="b", latency_ms=latency(10), drift=[1e-3, 1e-3])
    base = {**side(names="a", latency_ms=latency(10)), **with_drift}
    assert decide(base, base).exit_code == 0


def test_case_that_one_side_lacks_is_unclear() -> None:
    base, new = side(latency_ms=latency(10)), side(names="a", latency_ms=latency(10))
    gate = decide(base, new, ["latency_ms"])
    assert gate.exit_code == 3
    assert gate.judgement.absent[0].text == "not measured on new"


def test_markdown_has_a_table_for_each_kind_of_finding() -> None:
    gate = gate_of(latency(11))
    text = markdown(
        gate,
        base="old",
        new="new",
        machine="cpu-2c",
        address="https://there",
    )
    row = r"\| a.smoke \| inductor \| Latency \| 10.0+ ms \| 11.0+ ms \| 10.0% slower"
    assert text.startswith("### old → new on cpu-2c: worse\n\nWorse: 2 worse.")
    assert "**Worse**" in text
    assert re.search(row, text)
    assert text.endswith("The whole report: https://there\n")


@pytest.mark.parametrize(
    ("new", "words"), [(10.05, "Nothing got worse: 2 same."), (9.0, "2 better")]
)
def test_sentence_sums_the_answer_up(new: float, words: str) -> None:
    assert words in sentence(gate_of(latency(new)))


def test_document_has_every_number_of_a_finding() -> None:
    [first, _] = document(gate_of(latency(11)))["worse"]
    assert first["metric"] == "latency_ms"
    assert first["unit"] == "ms"
    assert round(first["percent"]) == 10
    assert (first["pairs"], first["grade"], first["new_processes"]) == (6, "certain", 6)
    assert first["low_percent"] < first["percent"] < first["high_percent"]
