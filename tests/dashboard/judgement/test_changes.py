"""The values of an answer, and what to measure next."""

import math

import numpy as np
import pytest

from dashboard.judgement.changes import Change, Grade, Verdict, answer
from dashboard.judgement.moderation import variance_prior
from dashboard.judgement.planning import outlook
from dashboard.judgement.search import Round, step
from tests.dashboard.judgement.measured import LATENCY


def change(verdict: Verdict, low: float = -0.01, high: float = 0.01, pairs: int = 6) -> Change:
    grade: Grade | None = "certain" if verdict in ("worse", "better") else None
    return Change("case", LATENCY, (low + high) / 2, low, high, pairs, verdict, grade)


@pytest.mark.parametrize(
    ("verdicts", "verdict"),
    [
        (["worse", "same"], "worse"),
        (["worse", "better"], "mixed"),
        (["better", "same"], "better"),
        (["better", "unclear"], "unclear"),
        (["same", "same"], "same"),
        ([], "unclear"),
    ],
)
def test_answer_of_a_set(verdicts: list[Verdict], verdict: Verdict) -> None:
    assert answer(map(change, verdicts)).verdict == verdict


def test_answer_has_the_bound_of_what_did_not_get_worse() -> None:
    bound = answer([change("same", high=0.013), change("worse", high=0.5)]).bound
    assert bound == pytest.approx(1.3, abs=0.01)


def test_case_that_fails_makes_an_answer_worse_and_certain() -> None:
    total = answer([change("same")], others=["worse"])
    assert (total.verdict, total.grade, total.counts) == (
        "worse",
        "certain",
        {"same": 1, "worse": 1},
    )


def test_change_without_an_interval_has_no_bound() -> None:
    assert change("unclear", -math.inf, math.inf).worst == math.inf


def test_case_without_an_interval_needs_the_first_look() -> None:
    assert outlook(change("unclear", -math.inf, math.inf, 2)).pairs == 3


def test_wide_interval_needs_more_pairs_than_a_narrow_one() -> None:
    needed = [outlook(change("unclear", -width, width, 6)).pairs for width in (0.025, 0.035)]
    assert needed == [12, 20]


def test_change_that_no_look_decides_says_which_bound_would() -> None:
    expected = outlook(change("unclear", -0.2, 0.2, 6))
    assert expected.pairs is None
    assert expected.bound == pytest.approx(100 * math.expm1(0.2 * math.sqrt(6 / 20)))


def test_likely_change_needs_six_pairs() -> None:
    likely = Change("case", LATENCY, 0.05, 0.03, 0.07, 3, "worse", "likely")
    assert outlook(likely).pairs == 6


def test_change_that_stays_likely_needs_the_next_look() -> None:
    likely = Change("case", LATENCY, 0.05, 0.03, 0.07, 7, "worse", "likely")
    assert outlook(likely).pairs == 12


def test_drift_between_rounds_leaves_a_step_of_a_search_decided() -> None:
    rounds = [Round(drift, drift + 0.001, drift + 0.05) for drift in (0.0, 0.1, -0.2, 0.3)]
    assert step({1: rounds}, 1, 0.02).likeness == "like_base"


def test_one_round_decides_nothing() -> None:
    assert step({1: [Round(0, 0, 0.2)]}, 1, 0.02).likeness == "unclear"


def test_rounds_of_other_builds_say_how_much_processes_scatter() -> None:
    rng = np.random.default_rng(2)
    others = [Round(*(rng.normal([0, 0, 0.05], 0.01))) for _ in range(8)]
    own = [Round(0.0, 0.001, 0.05), Round(0.003, 0.0, 0.049)]
    alone, informed = step({1: own}, 1, 0.02), step({1: own, 2: others}, 1, 0.02)
    assert informed.likeness == "like_base"
    assert alone.share.high != pytest.approx(informed.share.high)


@pytest.mark.parametrize("effect", [0.05, -0.07])
def test_searches_under_noise_end_at_the_right_pair(effect: float) -> None:
    rng = np.random.default_rng(3)
    right = 0
    for _ in range(60):
        at, low, high = int(rng.integers(1, 16)), 0, 15
        rounds: dict[int, list[Round]] = {}
        while high - low > 1:
            candidate = (low + high) // 2
            levels = effect * (np.array([0, candidate, 15]) >= at)
            own = rounds.setdefault(candidate, [])
            own += [Round(*rng.normal(levels + rng.normal(0, 0.02), 0.015)) for _ in range(2)]
            likeness = step(rounds, candidate, 0.02).likeness
            if likeness == "like_base":
                low = candidate
            elif likeness == "like_new":
                high = candidate
        right += (low, high) == (at - 1, at)
    assert right >= 57


@pytest.mark.parametrize(("value", "likeness"), [(0.0, "like_base"), (2.0, "like_new")])
def test_counts_that_repeat_decide_a_step(value: float, likeness: str) -> None:
    assert step({1: [Round(0.0, value, 2.0)] * 2}, 1, 0.0).likeness == likeness


def test_candidate_that_brings_nothing_leaves_the_ends_known() -> None:
    seen = step({1: [Round(0.0, math.nan, 0.1), Round(0.3, math.nan, 0.401)] * 2}, 1, 0.02)
    assert (seen.differ, seen.likeness) == (True, "unclear")


def test_ends_that_do_not_differ_are_known() -> None:
    rounds = [Round(0.0, 0.001, 0.001), Round(0.1, 0.1, 0.1), Round(0.2, 0.2, 0.201)]
    assert step({1: rounds}, 1, 0.02).differ is False


def test_variances_of_equal_cases_are_moderated_fully_and_of_few_cases_not_at_all() -> None:
    variances = np.random.default_rng(1).chisquare(2, 400) / 2
    variance, freedom = variance_prior(variances, np.full(400, 2.0))
    assert variance == pytest.approx(1, rel=0.15)
    assert freedom > 10
    assert variance_prior(variances[:3], np.full(3, 2.0)) == (0.0, 0.0)
