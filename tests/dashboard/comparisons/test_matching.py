"""Verdicts of single cases, and cases matched or left out with the reason."""

import pytest

from dashboard.comparisons.core.case_samples import pairs_of, pool_samples
from dashboard.comparisons.core.libraries import Libraries
from dashboard.comparisons.core.matching import CaseMeasurements, ComparedCase, Side
from dashboard.comparisons.core.tables import compare, with_controls
from dashboard.judgement.changes import Change
from dashboard.judgement.words import in_words
from dashboard.language.metrics import METRICS, comparable_metrics
from tests.builders.compared import SHIFTED, STEADY, latency, samples, side

LATENCY = METRICS["latency_ms"]


def only(base: Side, new: Side, metric: str = "latency_ms") -> Change:
    [row] = compare(base, new, METRICS[metric]).rows
    return row.change


# --- Verdicts ---


@pytest.mark.parametrize(
    ("factor", "verdict", "words"),
    [
        (0.94, "better", "6.0% faster"),
        (1.06, "worse", "6.0% slower"),
        (1.001, "same", "0.1% slower"),
    ],
)
def test_latency_is_judged_by_its_interval_and_threshold(
    factor: float, verdict: str, words: str
) -> None:
    change = only(latency(), latency(values=SHIFTED, factor=factor))
    assert change.verdict == verdict
    assert in_words(change).text.partition(" (")[0] == words


def test_higher_speedup_is_better() -> None:
    base, new = side({"speedup": samples()}), side({"speedup": samples(SHIFTED, 1.1)})
    assert only(base, new, "speedup").verdict == "better"


@pytest.mark.parametrize(
    ("old", "new", "verdict"),
    [
        ((2.0, 2.0), (2.0, 2.0), "same"),
        ((2.0, 2.0), (3.0, 3.0), "worse"),
        ((2.0, 3.0), (3.0, 3.0), "unclear"),
        ((0.0, 0.0), (0.0, 0.0), "same"),
        ((0.0,), (1.0,), "unclear"),
    ],
)
def test_counts_are_compared_as_they_are(
    old: tuple[float, ...], new: tuple[float, ...], verdict: str
) -> None:
    base_side, new_side = side({"graph_breaks": samples(old)}), side({"graph_breaks": samples(new)})
    assert only(base_side, new_side, "graph_breaks").verdict == verdict


def test_sides_of_their_own_devices_show_their_difference_without_a_verdict() -> None:
    change = only(latency(), latency(values=SHIFTED, factor=1.5, device="other"))
    assert (change.verdict, change.basis, change.has_interval) == ("unclear", "none", False)
    assert in_words(change).text == "50.1% slower"


def test_processes_that_share_no_block_are_in_no_pair() -> None:
    base, new = samples((100.0, 100.1)), samples((90.0, 90.1), session="yesterday")
    assert pairs_of(base, new) == []


def test_results_that_were_imported_one_side_after_the_other_make_no_pairs() -> None:
    base, new = samples(), samples(SHIFTED)
    later = tuple(each._replace(start=each.start + 100) for each in new.processes)
    assert pairs_of(base, new._replace(processes=later)) == []


def test_pairs_of_two_devices_are_in_the_order_of_their_starts() -> None:
    both = []
    for factor in (1.0, 1.1):
        parts = [samples(STEADY, factor, device=device) for device in ("gpu-0", "gpu-1")]
        both.append(pool_samples(parts))
    starts = [pair.start for pair in pairs_of(*both)]
    assert len(starts) == 12
    assert starts == sorted(starts)


def test_one_round_of_a_session_that_was_planned_in_turn_is_a_pair() -> None:
    sides = []
    for value in (100.0, 101.0):
        measured = samples((value,))
        planned = tuple(each._replace(is_planned=True) for each in measured.processes)
        sides.append(measured._replace(processes=planned))
    assert len(pairs_of(*sides)) == 1


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
    assert both.rows[0].base.value == pytest.approx(100.03, rel=1e-3)
    older = compare(measured(1, OLD_SET), new, LATENCY)
    assert older.rows[0].base.value == pytest.approx(200.06, rel=1e-3)


def test_library_that_only_one_side_has_was_not_needed() -> None:
    more = (("diffusers", "0.42.1"), *NEW_SET)
    table = compare(latency(libraries=more), latency(libraries=NEW_SET), LATENCY)
    assert len(table.rows) == 1
    assert table.left_out == []


def width_of_busy_case(metric: str, *, is_utilization_known: bool) -> float:
    """The interval of a case of three pairs that keeps the GPU busy, next to five that wait for the
    CPU and repeat badly, and five that keep it busy and repeat well.
    """
    base, new = {}, {}
    for number in range(11):
        case = ComparedCase(f"{number}", "inductor", "gpt2", "llm", "training")
        spread, utilization = (0.2, 20.0) if number < 5 else (0.002, 99.0)
        values = (1.0, 1 + spread * (1 + number % 3), 1.0)
        by_metric = {metric: [samples(values)]}
        others = {metric: [samples((1.0, 1.0, 1.0 + spread))]}
        if is_utilization_known:
            by_metric["gpu_utilization_percent"] = [samples((utilization,))]
        base[case.key] = CaseMeasurements(case, by_metric)
        new[case.key] = CaseMeasurements(case, others)
    rows = compare(base, new, METRICS[metric]).rows
    [busy] = [row.change for row in rows if row.case.benchmark == "10"]
    return busy.high - busy.low


def test_steps_that_keep_the_gpu_busy_do_not_pay_for_those_that_wait_for_the_cpu() -> None:
    aware = width_of_busy_case("latency_ms", is_utilization_known=True)
    blind = width_of_busy_case("latency_ms", is_utilization_known=False)
    assert aware < blind / 2


def test_utilization_says_nothing_of_the_cold_start() -> None:
    aware = width_of_busy_case("cold_start_s", is_utilization_known=True)
    blind = width_of_busy_case("cold_start_s", is_utilization_known=False)
    assert aware == blind


def test_largest_change_comes_first() -> None:
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
            "latency_ms": samples(SHIFTED, eager * compiled),
            "eager_latency_ms": samples(SHIFTED, eager),
            "speedup": samples(SHIFTED, 1 / compiled),
        }
    )
    [row] = with_controls(compare(base, new, LATENCY), base, new).rows
    assert row.changed_part == share
    assert row.compiled_only
    assert row.compiled_only.amount == pytest.approx(100 * (compiled - 1), abs=0.1)


def test_what_is_measured_once_for_a_build_is_not_compared() -> None:
    assert "toolchain_s" not in {metric.key for metric in comparable_metrics("cuda")}
