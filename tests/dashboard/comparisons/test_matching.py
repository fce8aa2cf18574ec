"""Verdicts, cases matched or left out with the reason, and the answer in words."""

import numpy as np
import pytest

from dashboard.comparisons.core.case_samples import pool_samples
from dashboard.comparisons.core.levels import merge_levels
from dashboard.comparisons.core.libraries import Libraries
from dashboard.comparisons.core.matching import (
    CaseMeasurements,
    ComparedCase,
    Side,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import Effect, estimate_effects
from dashboard.language.metrics import METRICS, comparable_metrics
from tests.builders.compared import STEADY, latency, samples, side

LATENCY = METRICS["latency_ms"]


def only(base: Side, new: Side, metric: str = "latency_ms") -> Effect:
    [row] = compare(base, new, METRICS[metric]).rows
    return row.effect


# --- Verdicts ---


@pytest.mark.parametrize(
    ("factor", "verdict", "words"),
    [
        (0.94, "better", "6.0% faster"),
        (1.06, "worse", "6.0% slower"),
        (1.001, "same", "0.1% slower"),
        (1.019, "unknown", "1.9% slower"),  # the interval holds the threshold: measure more
    ],
)
def test_latency_is_judged_by_its_interval_and_threshold(
    factor: float, verdict: str, words: str
) -> None:
    effect = only(latency(), latency(factor=factor))
    assert effect.verdict == verdict
    assert effect.change.text.partition(" (")[0] == words


def test_higher_speedup_is_better() -> None:
    base, new = side({"speedup": samples()}), side({"speedup": samples(factor=1.1)})
    assert only(base, new, "speedup").verdict == "better"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ((2.0, 2.0), (2.0, 2.0), "same"),
        ((2.0, 2.0), (3.0, 3.0), "worse"),
        ((2.0, 3.0), (3.0, 3.0), "unknown"),
        ((2.0, 3.0), (4.0, 4.0), "unknown"),
        ((0.0, 0.0), (0.0, 0.0), "same"),
        ((0.0,), (1.0,), "unknown"),
    ],
)
def test_counts_are_compared_as_they_are(
    old: tuple[float, ...], new: tuple[float, ...], verdict: str
) -> None:
    base_side, new_side = side({"graph_breaks": samples(old)}), side({"graph_breaks": samples(new)})
    assert only(base_side, new_side, "graph_breaks").verdict == verdict


def test_one_process_a_side_has_no_verdict_and_says_why() -> None:
    base = side({"peak_memory_gb": samples((2.0,))})
    new = side({"peak_memory_gb": samples((2.2,))})
    effect = only(base, new, "peak_memory_gb")
    assert effect.verdict == "unknown"
    assert effect.lacks == "one process on a side"
    assert effect.change.text == "10.0% more memory"


def test_processes_that_share_no_device_are_not_those_that_count() -> None:
    """Each side has two, but one alone was measured in turn with the other side's."""
    base, new = samples((100.0, 100.1)), samples((90.0,))
    elsewhere = samples((91.0,), device="other")
    assert new.level is not None
    assert elsewhere.level is not None
    new = new._replace(level=merge_levels([new.level, elsewhere.level]), n=2)
    effect = only(side({"latency_ms": base}), side({"latency_ms": new}))
    assert effect.lacks == "one process on a side, of those measured in turn"


@pytest.mark.parametrize(
    ("elsewhere", "verdict", "why"),
    [(1.12, "worse", ""), (1.40, "unknown", "the change differs from session to session")],
)
def test_memory_whose_change_differs_between_blocks_is_not_the_builds_alone(
    elsewhere: float, verdict: str, why: str
) -> None:
    sides = []
    for here, there in ((1.0, 1.0), (1.10, elsewhere)):
        measured = pool_samples(
            [samples(factor=here), samples(STEADY, factor=there, device="other")]
        )
        sides.append(side({"host_memory_gb": measured}))
    base, new = sides
    effect = only(base, new, "host_memory_gb")
    assert (effect.verdict, effect.lacks) == (verdict, why)


def test_processes_that_differ_too_much_have_no_interval_and_the_reason() -> None:
    effect = only(latency(values=(100.0, 350.0, 120.0)), latency(values=(90.0, 400.0, 250.0)))
    assert effect.verdict == "unknown"
    assert effect.lacks == "the processes of one build differ by too much"


@pytest.mark.parametrize(("processes", "verdict"), [(3, "unknown"), (6, "worse")])
def test_change_of_few_processes_is_only_suspected(processes: int, verdict: str) -> None:
    values = STEADY[:processes]
    effect = only(latency(values=values), latency(values=values, factor=1.06))
    assert effect.verdict == verdict
    assert (effect.suspected == "worse") == (verdict == "unknown")


def test_sides_of_their_own_devices_are_never_called_better_or_worse() -> None:
    effect = only(latency(), latency(factor=1.5, device="other"))
    assert effect.verdict == "unknown"
    assert effect.lacks == "not measured in turn on one device"


def test_chance_alone_makes_few_cases_significant() -> None:
    rng = np.random.default_rng(11)
    pairs = []
    for _ in range(400):
        old, new = (tuple(np.exp(rng.normal(0, 0.05, 3)).tolist()) for _ in range(2))
        pairs.append((samples(old), samples(new)))
    effects = estimate_effects(pairs, LATENCY)
    assert sum(effect.ratio.p < 0.05 for effect in effects if effect.ratio) > 5
    assert sum(effect.is_significant for effect in effects) <= 1


# --- Matching ---


OLD_SET, NEW_SET = (("transformers", "4.57.1"),), (("transformers", "5.17.0"),)


@pytest.mark.parametrize(
    ("base", "new", "why", "words"),
    [
        (latency(), {}, "missing", "not measured on new"),
        (latency(), side({}, failures={"oom": 2}), "failed", "out of memory on new"),
        (
            latency(),
            side({}, failures={"fail_accuracy": 1}),
            "failed",
            "wrong results on new",
        ),
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
        (latency(), side({"cold_start_s": samples()}), "no value", "no latency on new"),
    ],
)
def test_case_that_cannot_be_compared_is_left_out_with_the_reason(
    base: Side, new: Side, why: str, words: str
) -> None:
    table = compare(base, new, LATENCY)
    [left_out] = table.left_out
    assert table.rows == []
    assert left_out.why == why
    assert left_out.text == words


def test_sides_are_compared_under_the_newest_shared_libraries() -> None:
    def measured(factor: float, *sets: Libraries) -> Side:
        """Under the older set a step takes twice as long."""
        [(key, gpt2)] = side({}).items()
        for libraries in sets:
            slower = 2 if libraries == OLD_SET else 1
            under_set = samples(factor=factor * slower, libraries=libraries)
            gpt2.samples.setdefault("latency_ms", []).append(under_set)
        return {key: gpt2}

    new = measured(1.1, OLD_SET, NEW_SET)
    both = compare(measured(1, OLD_SET, NEW_SET), new, LATENCY)
    assert both.rows[0].effect.base.value == pytest.approx(100.03, rel=1e-3)
    older = compare(measured(1, OLD_SET), new, LATENCY)
    assert older.rows[0].effect.base.value == pytest.approx(200.06, rel=1e-3)


def test_library_that_only_one_side_has_was_not_needed() -> None:
    more = (("diffusers", "0.42.1"), *NEW_SET)
    table = compare(latency(libraries=more), latency(libraries=NEW_SET), LATENCY)
    assert len(table.rows) == 1
    assert table.left_out == []


def reach_of_busy_case(metric: str, *, is_utilization_known: bool) -> float:
    """Half the interval of a case of three processes that keeps the GPU busy, next to five that
    wait for the CPU and repeat badly, and five that keep it busy and repeat well.
    """
    cases = {}
    for number in range(11):
        case = ComparedCase(f"{number}", "inductor", "gpt2", "llm", "training")
        spread, utilization = (0.2, 20.0) if number < 5 else (0.002, 99.0)
        values: tuple[float, ...] = (1.0, 1 + spread * (1 + number % 3))
        if number == 10:
            values = (1.0, 1.0001, 1.0)
        by_metric = {metric: [samples(values)]}
        if is_utilization_known:
            by_metric["gpu_utilization_percent"] = [samples((utilization,))]
        cases[case.key] = CaseMeasurements(case, by_metric)
    effects = [row.effect for row in compare(cases, cases, METRICS[metric]).rows]
    [thrice] = [effect.ratio for effect in effects if effect.base.n == 3]
    assert thrice
    return thrice.reach


def test_steps_that_keep_the_gpu_busy_do_not_pay_for_those_that_wait_for_the_cpu() -> None:
    aware = reach_of_busy_case("latency_ms", is_utilization_known=True)
    blind = reach_of_busy_case("latency_ms", is_utilization_known=False)
    assert aware < blind / 2


def test_utilization_says_nothing_of_the_cold_start() -> None:
    aware = reach_of_busy_case("cold_start_s", is_utilization_known=True)
    blind = reach_of_busy_case("cold_start_s", is_utilization_known=False)
    assert aware == blind


def test_largest_effect_comes_first() -> None:
    base, new = {}, {}
    for name, factor in (("a", 1.01), ("b", 0.9)):
        case = ComparedCase(name, "inductor", name, "llm", "training")
        base[case.key] = CaseMeasurements(case, {"latency_ms": [samples()]})
        new[case.key] = CaseMeasurements(case, {"latency_ms": [samples(factor=factor)]})
    assert [row.case.benchmark for row in compare(base, new, LATENCY).rows] == ["b", "a"]


# --- The eager control ---


@pytest.mark.parametrize(
    ("eager", "compiled", "share"),
    [
        (0.9, 1.0, "in eager too"),
        (1.0, 0.9, "compiled only"),
        (0.9, 0.9, "both"),
        (1.0, 1.0, ""),
    ],
)
def test_change_is_split_into_eagers_part_and_the_compilers(
    eager: float, compiled: float, share: str
) -> None:
    base = side(
        {
            "latency_ms": samples(),
            "eager_latency_ms": samples(),
            "speedup": samples(),
        }
    )
    new = side(
        {
            "latency_ms": samples(factor=eager * compiled),
            "eager_latency_ms": samples(factor=eager),
            "speedup": samples(factor=1 / compiled),
        }
    )
    [row] = compare_latency(base, new).rows
    assert row.changed_part == share
    assert row.eager
    assert row.compiled_only
    assert row.compiled_only.ratio
    assert row.compiled_only.ratio.percent == pytest.approx(100 * (compiled - 1), abs=1e-6)


def test_what_is_measured_once_for_a_build_is_not_compared() -> None:
    assert "toolchain_s" not in {metric.key for metric in comparable_metrics("cuda")}


@pytest.mark.parametrize(
    ("elsewhere", "said"), [(2.0, ""), (0.94, "6% faster to 120% slower by session")]
)
def test_change_that_a_session_has_the_other_way_says_so(elsewhere: float, said: str) -> None:
    scattered = (55.0, 180.0, 70.0, 150.0, 100.0, 60.0, 165.0, 95.0)
    sides = []
    for here, there in ((1.0, 1.0), (2.2, elsewhere)):
        single = samples(scattered[2:3], factor=there, device="other")
        sides.append(side({"latency_ms": pool_samples([samples(scattered, factor=here), single])}))
    base, new = sides
    effect = only(base, new)
    assert (effect.verdict, effect.sessions) == ("worse", said)
