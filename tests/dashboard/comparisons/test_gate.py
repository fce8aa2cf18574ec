"""The gate's answer: passed, a regression, or not known yet and what would tell."""

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


def side(
    failing: str = "", names: Sequence[str] = ("a", "b"), **values: Sequence[float]
) -> dict[Key, CaseMeasurements]:
    """Models with these values, one from each process, by metric; `failing` names one that only
    fails.
    """
    found = {}
    for place, name in enumerate(names):
        case = ComparedCase(f"{name}.smoke", "inductor", name, "toy", "inference", (place, 0))
        parts = {
            metric: [
                CaseSamples(
                    1,
                    (),
                    level_of(list(all_of)) if min(all_of) > 0 else None,
                    len(all_of),
                    min(all_of),
                    max(all_of),
                    all_of[0],
                )
            ]
            for metric, all_of in values.items()
        }
        is_failing = name == failing
        found[Key(case.benchmark, "inductor")] = CaseMeasurements(
            case, {} if is_failing else parts, {"oom": 1} if is_failing else {}
        )
    return found


def latency(middle: float, processes: int = 5, spread: float = 1.0) -> list[float]:
    return [middle * (1 + (one - 1) * spread) for one in NOISE[:processes]]


def judged(new: Sequence[float], old: Sequence[float] = latency(10), *metrics: str) -> Gate:
    return decide(side(latency_ms=old), side(latency_ms=new), metrics or ["latency_ms"])


def test_what_stays_within_the_threshold_passes() -> None:
    gate = judged(latency(10.05))
    assert (gate.state, gate.exit_code, gate.unchanged, advice(gate)) == ("passed", 0, 2, "")


def test_what_got_better_passes() -> None:
    assert (judged(latency(9)).state, len(judged(latency(9)).improvements)) == ("passed", 2)


def test_what_got_significantly_worse_is_a_regression() -> None:
    gate = judged(latency(11))
    assert (gate.state, gate.exit_code, len(gate.regressions)) == ("regression", 1, 2)


def test_a_case_that_only_fails_now_is_a_regression() -> None:
    gate = decide(side(latency_ms=latency(10)), side("b", latency_ms=latency(10)), ["latency_ms"])
    assert (gate.state, gate.broken) == ("regression", ["b.smoke inductor (oom)"])


def test_a_case_that_fails_on_both_sides_is_told_and_decides_nothing() -> None:
    both = side("b", latency_ms=latency(10))
    gate = decide(both, both, ["latency_ms"])
    assert (gate.state, [out.why for out in gate.absent]) == ("passed", ["failed"])


def test_a_large_change_in_one_process_each_is_not_known() -> None:
    gate = judged(latency(11, processes=1), latency(10, processes=1))
    assert (gate.state, gate.exit_code, gate.processes) == ("unknown", 3, 3)
    assert "`--repeats 3`" in advice(gate)


def test_a_wide_spread_is_not_known_and_says_how_many_processes_should_tell() -> None:
    gate = judged(latency(10, spread=30), latency(10, spread=30))
    assert gate.state == "unknown"
    assert gate.processes is not None
    assert 5 < gate.processes <= MAX_PROCESSES


def test_the_processes_that_are_advised_do_tell() -> None:
    needed = judged(latency(10, spread=30), latency(10, spread=30)).processes
    assert needed is not None
    more = (latency(10, spread=30) * needed)[:needed]
    assert judged(more, more).state == "passed"


def test_a_change_on_the_threshold_needs_more_than_is_worth_it() -> None:
    gate = judged(
        [10.2 * one for one in (0.99, 1.0, 1.01)], [10 * one for one in (0.99, 1.0, 1.01)]
    )
    assert (gate.state, gate.processes) == ("unknown", None)
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
    before, after = (side("", ("a", "b"), **{metric: [one]}) for one in (base, new))
    assert decide(before, after, [metric]).state == state


def test_memory_too_small_to_be_measured_decides_nothing() -> None:
    base, new = (
        side(latency_ms=latency(10), peak_memory_gb=[grain, 1e-4]) for grain in (-1e-4, 2e-4)
    )
    assert decide(base, new).state == "passed"


def test_a_metric_that_no_case_has_is_not_known() -> None:
    gate = decide(side(latency_ms=latency(10)), side(latency_ms=latency(10)), ["drift"])
    assert (gate.state, advice(gate)[:42]) == (
        "unknown",
        "No case was measured on both sides: see wh",
    )


def test_what_only_some_cases_have_is_judged_where_it_is() -> None:
    base = {
        **side(names="a", latency_ms=latency(10)),
        **side(names="b", latency_ms=latency(10), drift=[1e-3]),
    }
    assert decide(base, base).state == "passed"


def test_a_case_that_one_side_lacks_is_not_known() -> None:
    gate = decide(
        side(latency_ms=latency(10)), side(names="a", latency_ms=latency(10)), ["latency_ms"]
    )
    assert (gate.state, gate.absent[0].text) == ("unknown", "not measured on new")


def test_the_markdown_has_a_table_for_each_kind_of_finding() -> None:
    text = markdown(
        judged(latency(11)), base="old", new="new", machine="cpu-2c", address="https://there"
    )
    assert text.startswith("### old → new on cpu-2c: regression\n\nRegression: 2 worse.")
    assert re.search(
        r"\| a.smoke \| inductor \| Latency \| 10.0+ ms \| 11.0+ ms \| 10.0 % slower", text
    )
    assert "**Worse**" in text
    assert text.endswith("The whole report: https://there\n")


@pytest.mark.parametrize(
    ("new", "told"), [(10.0, "No significant regression: 2 unchanged."), (9.0, "2 better")]
)
def test_the_answer_is_told_in_a_line(new: float, told: str) -> None:
    assert told in sentence(judged(latency(new)))


def test_programs_get_every_number_of_a_finding() -> None:
    [first, _] = document(judged(latency(11)))["regressions"]
    assert (first["metric"], first["unit"], round(first["percent"]), first["new_processes"]) == (
        "latency_ms",
        "ms",
        10,
        5,
    )
    assert first["low_percent"] < first["percent"] < first["high_percent"]
