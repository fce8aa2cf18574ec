"""Verdicts of pairs, which depend neither on the order of the cases nor on who looked when."""

from dataclasses import replace
from random import Random

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from dashboard.judgement.changes import Change
from dashboard.judgement.experiment import MEAN, Measured, judge
from dashboard.judgement.pairs import Pair, Process, in_turn, pairs_of_block, widest_difference
from dashboard.language.metrics import METRICS
from tests.dashboard.judgement.measured import LATENCY, drawn, repeated

STAGES = (3, 6, 12, 20)
SEEDS = st.integers(0, 10_000)
EFFECTS = [0.0] * 6 + [0.02, 0.03, -0.04, 0.05]


def change_of(case: Measured) -> Change:
    [change] = judge([case]).changes
    return change


@given(SEEDS, st.sampled_from([0.003, 0.01, 0.03]))
@settings(max_examples=60, deadline=None)
def test_more_pairs_make_no_answer_less_certain(seed: int, noise: float) -> None:
    ranks = {"unclear": 0, "same": 1, "likely": 1, "certain": 2}
    before = [0] * len(EFFECTS)
    for pairs in STAGES:
        changes = judge(drawn(seed, EFFECTS, pairs, noise)).changes
        ranked = [ranks[change.grade or change.verdict] for change in changes]
        assert all(new >= old for old, new in zip(before, ranked, strict=True))
        before = ranked


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_intervals_only_narrow_with_more_pairs(seed: int) -> None:
    widths = []
    for pairs in STAGES:
        changes = judge(drawn(seed, EFFECTS, pairs)).changes
        widths.append([change.high - change.low for change in changes])
    wider = sum(new > old for old, new in zip(widths[0], widths[-1], strict=True))
    assert wider == 0


@given(SEEDS, st.randoms(use_true_random=False))
@settings(max_examples=30, deadline=None)
def test_order_of_cases_does_not_matter(seed: int, random: Random) -> None:
    cases = drawn(seed, EFFECTS, 6)
    shuffled = list(cases)
    random.shuffle(shuffled)
    by_case = {change.case: change for change in judge(shuffled).changes}
    for change in judge(cases).changes:
        assert by_case[change.case].verdict == change.verdict
        assert by_case[change.case].low == pytest.approx(change.low)


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_exchanged_sides_turn_every_change_round(seed: int) -> None:
    cases = drawn(seed, EFFECTS, 6)
    exchanged = [
        replace(case, pairs=[Pair(pair.new, pair.base) for pair in case.pairs]) for case in cases
    ]
    for change, turned in zip(judge(cases).changes, judge(exchanged).changes, strict=True):
        assert turned.effect == pytest.approx(-change.effect)
        assert turned.grade == change.grade


@given(SEEDS)
@settings(max_examples=30, deadline=None)
def test_pairs_after_a_look_wait_for_the_next(seed: int) -> None:
    six, eight = (judge(drawn(seed, EFFECTS, pairs)).changes for pairs in (6, 8))
    assert [change.effect for change in six] == [change.effect for change in eight]
    assert {change.pairs for change in eight} == {6}


def test_real_change_is_likely_with_three_pairs_and_certain_with_six() -> None:
    grades = [judge(drawn(1, [0.0] * 20 + [0.06], pairs)).changes[-1].grade for pairs in (3, 6)]
    assert grades == ["likely", "certain"]


def test_two_pairs_that_scatter_say_nothing() -> None:
    assert change_of(drawn(1, [0.1], 2)[0]).verdict == "unclear"


def test_small_improvement_asks_for_no_more_runs() -> None:
    change = change_of(repeated([(100.0, 98.5), (100.0, 98.8), (100.0, 98.6)] * 4, LATENCY))
    assert change.verdict == "same"
    assert change.worst < 0


def test_higher_speedup_is_better() -> None:
    pairs = [(1.0, 1.2), (1.0, 1.21), (1.0, 1.19)] * 4
    assert change_of(repeated(pairs, METRICS["speedup"])).verdict == "better"


@pytest.mark.parametrize(("new", "verdict"), [(1.8, "worse"), (1.2, "better"), (1.501, "same")])
def test_memory_that_repeats_is_certain_with_two_pairs(new: float, verdict: str) -> None:
    change = change_of(repeated([(1.5, new)] * 2))
    assert change.verdict == verdict
    assert change.low == change.high


def test_memory_that_does_not_repeat_is_unclear() -> None:
    assert change_of(repeated([(1.5, 1.8), (1.5, 1.7)])).verdict == "unclear"


def test_one_more_graph_break_is_worse() -> None:
    change = change_of(repeated([(0.0, 1.0)] * 2, METRICS["graph_breaks"]))
    assert (change.verdict, change.amount) == ("worse", 1.0)


def test_change_beyond_all_that_is_known_of_the_case_needs_two_pairs() -> None:
    pairs = [Pair(45.8, 68.3), Pair(45.6, 68.9)]
    widest = widest_difference([[45.2, 45.9, 46.1, 45.7], [45.1, 45.4, 45.9, 46.0, 45.8]])
    assert change_of(Measured("case", LATENCY, pairs, widest=widest)).is_certain
    assert change_of(Measured("case", LATENCY, pairs)).verdict == "unclear"


def test_history_counts_processes_of_builds_that_have_several() -> None:
    assert widest_difference([[1.0, 1.1, 1.2], [1.0, 1.1], [2.0]]) == np.inf
    assert widest_difference([[1.0, 1.1, 1.2], [1.0, 1.1, 1.0], [2.0]]) == np.log(1.2)


def test_sides_that_ran_one_after_the_other_make_no_pairs() -> None:
    base = [Process(hour, "base", 1.0) for hour in range(5)]
    new = [Process(20 + hour, "new", 1.1) for hour in range(5)]
    assert in_turn({"day": base + new}) == set()


def test_one_process_a_side_within_the_hour_is_a_turn_where_other_blocks_are() -> None:
    lone = [Process(0, "base", 1.0), Process(60, "new", 1.1)]
    far = [Process(0, "base", 1.0), Process(20_000, "new", 1.1)]
    assert in_turn({"first": lone}) == set()
    assert in_turn({"first": lone, "second": lone, "third": far}) == {"first", "second"}
    more = [Process(90, "base", 1.0), Process(120, "new", 1.1)]
    assert in_turn({"first": lone, "second": [*lone, *more]}) == {"first", "second"}


def test_processes_that_take_turns_are_paired_by_their_starts() -> None:
    new = [Process(3, "new", 2.2), Process(1, "new", 1.1)]
    processes = [*new, Process(0, "base", 1.0), Process(2, "base", 2.0)]
    assert pairs_of_block(processes, "day") == [Pair(1.0, 1.1, "day", 1), Pair(2.0, 2.2, "day", 3)]


def test_sessions_that_contradict_each_other_are_said_and_become_the_values() -> None:
    cases = []
    rng = np.random.default_rng(1)
    for case in drawn(3, [0.0] * 20, 6, sessions=3):
        served = rng.normal(0, 0.05, 3)
        pairs = [
            pair._replace(new=pair.new * np.exp(served[int(pair.session)])) for pair in case.pairs
        ]
        cases.append(replace(case, pairs=pairs))
    judged = judge(cases)
    assert judged.contradicting == {"latency_ms"}
    assert not any(change.is_certain for change in judged.changes)


def test_memory_that_repeats_contradicts_nothing() -> None:
    pairs = [Pair(1.5 + at / 1e6, 1.8, str(at // 2)) for at in range(6)]
    cases = [Measured(case, METRICS["peak_memory_gb"], pairs) for case in range(10)]
    assert judge(cases).contradicting == set()


def test_rounding_contradicts_nothing() -> None:
    pairs = [Pair(2.0, 1.8 + at % 2 * 2e-16, str(at // 3)) for at in range(6)]
    assert judge([Measured("case", LATENCY, pairs)]).contradicting == set()


def test_sessions_that_agree_are_pooled() -> None:
    assert judge(drawn(3, [0.0] * 20, 6, sessions=3)).contradicting == set()


def test_case_that_is_not_averaged_has_no_part_in_the_mean() -> None:
    cases = drawn(1, [0.0] * 4, 6, noise=0.001) + drawn(2, [0.5], 6)
    with_it = judge(cases).means["latency_ms"]
    without = judge([*cases[:4], replace(cases[4], is_averaged=False)]).means["latency_ms"]
    assert with_it.effect > 0.05
    assert abs(without.effect) < 0.01


def test_counts_have_no_mean() -> None:
    breaks = [repeated([(0.0, 1.0)] * 2, METRICS["graph_breaks"]) for _ in range(3)]
    assert judge(breaks).means == {}


def test_mean_of_one_session_has_no_verdict() -> None:
    mean = judge(drawn(1, [0.05] * 20, 6)).means["latency_ms"]
    assert (mean.case, mean.verdict, mean.high) == (MEAN, "unclear", np.inf)


def test_mean_of_sessions_that_agree_is_certain() -> None:
    mean = judge(drawn(1, [0.05] * 20, 6, sessions=3)).means["latency_ms"]
    assert (mean.verdict, mean.grade) == ("worse", "certain")
