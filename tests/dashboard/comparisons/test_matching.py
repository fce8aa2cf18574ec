"""Verdicts, cases matched or left out with the reason, and the answer in words."""

import re

import numpy as np
import pytest

from dashboard.comparisons.core.levels import level_of
from dashboard.comparisons.core.matching import (
    CaseMeasurements,
    ComparedCase,
    Key,
    Side,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import (
    CaseSamples,
    Effect,
    Libraries,
    estimate_effects,
)
from dashboard.comparisons.core.upgrade_groups import build_report
from dashboard.language.metrics import METRICS

LATENCY = METRICS["latency_ms"]
STEADY = (100.0, 100.3, 99.8)  # three processes that differ by little


def part(
    values: tuple[float, ...] = STEADY,
    factor: float = 1.0,
    version: int = 1,
    libraries: Libraries = (),
) -> CaseSamples:
    numbers = [value * factor for value in values]
    positive = level_of(numbers) if min(numbers) > 0 else None
    return CaseSamples(
        version,
        libraries,
        positive,
        len(numbers),
        min(numbers),
        max(numbers),
        float(np.mean(numbers)),
    )


def side(
    part_of: dict[str, CaseSamples | None],
    config: str = "inductor",
    failures: dict[str, int] | None = None,
) -> Side:
    """One case of gpt2 with these metrics."""
    case = ComparedCase("gpt2.training", config, "gpt2", "llm", "training")
    parts = {metric: [one] for metric, one in part_of.items() if one}
    return {Key(case.benchmark, config): CaseMeasurements(case, parts, failures or {})}


def latency(**given: float | int | Libraries) -> Side:
    return side({"latency_ms": part(**given)})  # type: ignore[arg-type]  # each test gives what part takes


def only(base: Side, new: Side, metric: str = "latency_ms") -> Effect:
    [row] = compare(base, new, METRICS[metric]).rows
    return row.effect


# --- Verdicts
# -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("factor", "verdict", "words"),
    [
        (0.94, "better", "6.0 % faster"),
        (1.06, "worse", "6.0 % slower"),
        (1.001, "same", "0.1 % slower"),
        (1.019, "unknown", "1.9 % slower"),  # the interval holds the threshold: measure more
    ],
)
def test_a_latency_is_judged_by_its_interval_and_threshold(
    factor: float, verdict: str, words: str
) -> None:
    found = only(latency(), latency(factor=factor))
    assert (found.verdict, found.change.text.partition(" (")[0]) == (verdict, words)


def test_more_throughput_is_better() -> None:
    assert (
        only(side({"speedup": part()}), side({"speedup": part(factor=1.1)}), "speedup").verdict
        == "better"
    )


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ((2.0, 2.0), (2.0, 2.0), "same"),
        ((2.0, 2.0), (3.0, 3.0), "worse"),
        ((2.0, 3.0), (3.0, 3.0), "unknown"),
        ((0.0,), (0.0,), "same"),
    ],
)
def test_counts_are_compared_as_they_are(
    old: tuple[float, ...], new: tuple[float, ...], verdict: str
) -> None:
    assert (
        only(
            side({"graph_breaks": part(old)}), side({"graph_breaks": part(new)}), "graph_breaks"
        ).verdict
        == verdict
    )


def test_memory_of_one_process_each_is_compared_and_marked_so() -> None:
    found = only(
        side({"peak_memory_gb": part((2.0,))}),
        side({"peak_memory_gb": part((2.2,))}),
        "peak_memory_gb",
    )
    assert (found.verdict, found.is_within, found.is_significant) == ("worse", True, False)


def test_chance_alone_makes_few_cases_significant() -> None:
    rng = np.random.default_rng(11)
    pairs = []
    for _ in range(400):
        old, new = (tuple(np.exp(rng.normal(0, 0.05, 3)).tolist()) for _ in range(2))
        pairs.append((part(old), part(new)))
    found = estimate_effects(pairs, LATENCY)
    assert sum(effect.ratio.p < 0.05 for effect in found if effect.ratio) > 5
    assert sum(effect.is_significant for effect in found) <= 1


# --- Matching
# -------------------------------------------------------------------------------------------------------
OLD_SET, NEW_SET = (("transformers", "4.57.1"),), (("transformers", "5.17.0"),)


@pytest.mark.parametrize(
    ("base", "new", "why", "words"),
    [
        (latency(), {}, "missing", "not measured on new"),
        (latency(), side({}, failures={"oom": 2}), "failed", "oom on new"),
        (
            latency(version=1),
            latency(version=2),
            "benchmark",
            "version 1 of the benchmark against 2",
        ),
        (
            latency(libraries=OLD_SET),
            latency(libraries=NEW_SET),
            "libraries",
            "transformers 4.57.1 against transformers 5.17.0",
        ),
        (latency(), side({"cold_start_s": part()}), "no value", "no latency on new"),
    ],
)
def test_a_case_that_cannot_be_compared_is_left_out_with_the_reason(
    base: Side, new: Side, why: str, words: str
) -> None:
    table = compare(base, new, LATENCY)
    [left_out] = table.left_out
    assert (table.rows, left_out.why, left_out.text) == ([], why, words)


def test_two_sides_are_compared_under_the_newest_libraries_that_both_have() -> None:
    def measured(libraries: list[Libraries], factor: float) -> Side:
        found = side({})
        parts = [
            part(factor=factor * (2 if one == OLD_SET else 1), libraries=one) for one in libraries
        ]
        next(iter(found.values())).samples["latency_ms"] = parts
        return found

    both = compare(measured([OLD_SET, NEW_SET], 1), measured([OLD_SET, NEW_SET], 1.1), LATENCY)
    assert both.rows[0].effect.base.value == pytest.approx(100.03, rel=1e-3)
    older = compare(measured([OLD_SET], 1), measured([OLD_SET, NEW_SET], 1.1), LATENCY)
    assert older.rows[0].effect.base.value == pytest.approx(200.06, rel=1e-3)


def test_a_library_that_only_one_side_has_was_not_needed() -> None:
    more = (("diffusers", "0.42.1"), *NEW_SET)
    table = compare(latency(libraries=more), latency(libraries=NEW_SET), LATENCY)
    assert (len(table.rows), table.left_out) == (1, [])


@pytest.mark.parametrize(("metric", "narrower"), [("latency_ms", True), ("cold_start_s", False)])
def test_steps_that_keep_the_gpu_busy_do_not_pay_for_those_that_wait_for_the_cpu(
    metric: str, narrower: bool
) -> None:
    def reach(*, is_busy_known: bool) -> float:
        """Of the case that was measured once."""
        found = {}
        for number in range(11):
            case = ComparedCase(f"{number}", "inductor", "gpt2", "llm", "training")
            wide, busy = (0.2, 20.0) if number < 5 else (0.002, 99.0)
            own = part((1.0, 1 + wide * (1 + number % 3))) if number < 10 else part((1.0,))
            parts = {metric: [own]} | (
                {"gpu_utilization_percent": [part((busy,))]} if is_busy_known else {}
            )
            found[Key(case.benchmark, case.config)] = CaseMeasurements(case, parts)
        [once] = [
            row.effect.ratio
            for row in compare(found, found, METRICS[metric]).rows
            if row.effect.base.n == 1
        ]
        assert once
        return once.reach

    known, blind = reach(is_busy_known=True), reach(is_busy_known=False)
    assert (known < blind / 2, known == blind) == (narrower, not narrower)


def test_the_largest_effect_comes_first() -> None:
    cases = [ComparedCase(name, "inductor", name, "llm", "training") for name in "ab"]
    base = {
        Key(case.benchmark, case.config): CaseMeasurements(case, {"latency_ms": [part()]})
        for case in cases
    }
    new = {
        Key(case.benchmark, case.config): CaseMeasurements(
            case, {"latency_ms": [part(factor=factor)]}
        )
        for case, factor in zip(cases, (1.01, 0.9), strict=True)
    }
    assert [row.case.benchmark for row in compare(base, new, LATENCY).rows] == ["b", "a"]


# --- The eager control
# ------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("eager", "compiled", "share"),
    [(0.9, 1.0, "in eager too"), (1.0, 0.9, "compiled only"), (0.9, 0.9, "both"), (1.0, 1.0, "")],
)
def test_a_change_is_split_into_eagers_part_and_the_compilers(
    eager: float, compiled: float, share: str
) -> None:
    base = side({"latency_ms": part(), "eager_latency_ms": part(), "speedup": part()})
    new = side(
        {
            "latency_ms": part(factor=eager * compiled),
            "eager_latency_ms": part(factor=eager),
            "speedup": part(factor=1 / compiled),
        }
    )
    [row] = compare_latency(base, new).rows
    assert row.changed_part == share
    assert row.eager
    assert row.compiled_only
    assert row.compiled_only.ratio
    assert row.compiled_only.ratio.percent == pytest.approx(100 * (compiled - 1), abs=1e-6)


# --- The answer
# -------------------------------------------------------------------------------------------------------
@pytest.mark.parametrize(
    ("new", "word"),
    [
        (side({"latency_ms": part(factor=0.9)}), "Yes"),
        (side({"latency_ms": part(factor=1.1)}), "No"),
        (side({"latency_ms": part()}), "It makes no difference"),
        (
            side({"latency_ms": part(factor=0.9), "cold_start_s": part(factor=1.3)}),
            "Yes, at a cost",
        ),
        (side({"latency_ms": part(factor=1.1), "cold_start_s": part(factor=0.7)}), "It depends"),
        (
            side({"latency_ms": part((90.0, 110.0)), "cold_start_s": part(factor=0.7)}),
            "Not known yet",
        ),
        (
            side({"latency_ms": part((98.0, 102.0)), "cold_start_s": part(factor=0.7)}),
            "Steps hardly change",
        ),
        (side({}, failures={"crashed": 1}), "Not yet"),
        ({}, "Not known yet"),
    ],
)
def test_the_answer_in_a_word(new: Side, word: str) -> None:
    base = side({"latency_ms": part(), "cold_start_s": part()})
    assert build_report(base, new).overall.answer.word == word


def test_the_answer_in_a_sentence_names_gain_cost_and_failures() -> None:
    base = {
        **side({"latency_ms": part(), "cold_start_s": part()}),
        **side({"latency_ms": part()}, "regional"),
    }
    new = {
        **side({"latency_ms": part(factor=0.9), "cold_start_s": part(factor=1.3)}),
        **side({}, "regional", {"fail_to_compile": 3}),
    }
    sentence = build_report(base, new).overall.answer.sentence
    assert sentence.startswith(
        "1 case that passed now fails: gpt2.training regional (fail_to_compile). Compiled steps are"
    )
    assert "cold start is 30.0 % slower (" in sentence


def test_what_is_not_known_is_told_apart_each_end_of_its_interval_with_its_direction() -> None:
    base = side({"latency_ms": part(), "cold_start_s": part((80.0, 120.0, 100.0))})
    new = side({"latency_ms": part(factor=1.1), "cold_start_s": part((82.0, 122.0, 100.0))})
    known, open_question = build_report(base, new).overall.answer.sentence.split(". ", 1)
    assert known.startswith("Compiled steps are 10.0 % slower (")
    assert re.fullmatch(
        r"Undecided: cold start \([\d.]+ % faster to [\d.]+ % slower\)\.", open_question
    )
