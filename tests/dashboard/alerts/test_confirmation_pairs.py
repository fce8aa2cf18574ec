"""The sequential test: how often it confirms what is not there, and finds what is."""

from collections import Counter
from collections.abc import Callable
from math import exp, sqrt

import numpy as np
import pytest

from dashboard.alerts.core.confirmation import (
    WARM_UPS,
    compare_pairs,
    compare_with_recorded,
    draw_order,
)
from dashboard.detection import Settings
from dashboard.judgement.confirmation import FEWEST, MOST, bounds

SETTINGS = Settings(2.0)
TRIES = 400
Draw = Callable[[np.random.Generator], float]

# The difference of two processes' logarithms, in units of one process's spread.
NOISE: dict[str, Draw] = {
    "gauss": lambda rng: float(rng.normal() * sqrt(2)),
    "heavy tails": lambda rng: float((rng.standard_t(3) - rng.standard_t(3)) / sqrt(3)),
    "outliers": lambda rng: float(
        rng.normal() * sqrt(2) + 10 * (rng.random() < 0.04) * rng.choice([-1, 1])
    ),
    "two modes": lambda rng: float(
        rng.normal(0, 0.6) + rng.choice([-1.5, 1.5]) - rng.choice([-1.5, 1.5])
    ),
}


def verdicts(draw: Draw, percent: float, suspected: float, seed: int = 0) -> Counter[str]:
    """Count by verdict how TRIES sequential tests end; noise of 1% between processes."""
    rng, counts = np.random.default_rng(seed), Counter[str]()
    for _ in range(TRIES):
        pairs = [(100.0, 100 * (1 + percent / 100) * exp(draw(rng) / 100)) for _ in range(MOST)]
        verdict = "open"
        for count in range(FEWEST, MOST + 1):
            verdict = compare_pairs(pairs[:count], suspected, SETTINGS).verdict
            if verdict != "open":
                break
        counts[verdict] += 1
    return counts


@pytest.mark.parametrize("kind", NOISE)
def test_at_most_one_in_twenty_is_confirmed_where_nothing_changed(kind: str) -> None:
    assert verdicts(NOISE[kind], 0.0, 6.0)["confirmed"] <= 0.05 * TRIES
    assert verdicts(NOISE[kind], 0.0, 2.0)["confirmed"] <= 0.05 * TRIES


@pytest.mark.parametrize(
    ("kind", "share"),
    [
        ("gauss", 0.95),
        ("heavy tails", 0.9),
        ("outliers", 0.6),
        ("two modes", 0.9),
    ],
)
def test_three_percent_in_noise_of_one_is_confirmed(kind: str, share: float) -> None:
    assert verdicts(NOISE[kind], 3.0, 3.0)["confirmed"] >= share * TRIES


def test_change_that_is_not_there_is_mostly_closed_as_not_reproduced() -> None:
    assert verdicts(NOISE["gauss"], 0.0, 6.0)["not_reproduced"] >= 0.95 * TRIES


def test_looks_together_cover_the_truth_nineteen_times_in_twenty() -> None:
    rng, missed = np.random.default_rng(7), 0
    for _ in range(1000):
        values = rng.normal(3.0, 1.0, MOST)
        looks = [bounds(values[:count].tolist()) for count in range(FEWEST, MOST + 1)]
        missed += any(not look.low <= 3.0 <= look.high for look in looks)
    assert missed <= 65


def test_the_order_has_a_warm_up_and_is_balanced_in_each_two_pairs() -> None:
    order = draw_order(np.random.default_rng(1))
    warm_up, counted = order[: 2 * WARM_UPS], order[2 * WARM_UPS :]
    blocks = [counted[at : at + 4] for at in range(0, len(counted), 4)]
    assert sorted(warm_up) == ["base", "new"]
    assert len(counted) == 2 * MOST
    assert all(
        block in (["base", "new", "new", "base"], ["new", "base", "base", "new"])
        for block in blocks
    )


def test_the_order_is_drawn() -> None:
    assert len({tuple(draw_order(np.random.default_rng(seed))) for seed in range(20)}) > 10


def test_exact_values_are_decided_with_the_fewest_pairs() -> None:
    memory = Settings(2.0, "constant")
    assert compare_pairs([(1.5, 1.8)] * FEWEST, 20.0, memory).verdict == "confirmed"
    assert compare_pairs([(1.5, 1.5)] * FEWEST, 20.0, memory).verdict == "not_reproduced"
    assert compare_pairs([(1.5, 1.8)] * 3, 20.0, memory).verdict == "open"


def test_a_status_that_comes_and_goes_is_inconclusive() -> None:
    status = Settings(0.0, "status")
    flaky = [(0.0, float(at % 2)) for at in range(MOST)]
    assert [compare_pairs(flaky[:count], 1.0, status).verdict for count in (FEWEST, MOST)] == [
        "open",
        "inconclusive",
    ]


def test_change_in_the_other_direction_does_not_reproduce() -> None:
    faster = [(100.0, 94.0 + at / 10) for at in range(6)]
    assert compare_pairs(faster, 6.0, SETTINGS).verdict == "not_reproduced"


def test_change_above_zero_is_confirmed_smaller_where_it_was_estimated_too_large() -> None:
    slower = [(100.0, 102.0 + at / 100) for at in range(6)]
    faster = [(new, base) for base, new in slower]
    for outcome in (compare_pairs(slower, 6.0, SETTINGS), compare_pairs(faster, -6.0, SETTINGS)):
        assert outcome.verdict == "confirmed"
        assert outcome.smaller
        assert abs(outcome.effect) == pytest.approx(2.0, abs=0.1)


def test_change_of_the_estimated_size_is_not_smaller() -> None:
    pairs = [(100.0, 102.0 + at / 100) for at in range(6)]
    assert not compare_pairs(pairs, 2.0, SETTINGS).smaller


def test_less_than_half_of_the_threshold_is_not_reproduced() -> None:
    pairs = [(100.0, 100.5 + at / 100) for at in range(6)]
    assert compare_pairs(pairs, 6.0, SETTINGS).verdict == "not_reproduced"


def test_change_of_memory_by_less_than_half_of_the_estimate_is_smaller() -> None:
    outcome = compare_pairs([(1.5, 1.6)] * FEWEST, 20.0, Settings(2.0, "constant"))
    assert outcome.verdict == "confirmed"
    assert outcome.smaller


def test_real_two_percent_estimated_as_six_is_seldom_refused() -> None:
    ended = verdicts(NOISE["gauss"], 2.0, 6.0)
    assert ended["not_reproduced"] <= 0.08 * TRIES
    assert ended["confirmed"] >= 0.75 * TRIES


def test_new_build_alone_is_compared_with_the_recorded_level() -> None:
    recorded, again = [100.0, 101.0, 99.0, 100.5, 99.5], [110.0, 111.0, 109.5, 110.5]
    assert compare_with_recorded(recorded, again, 10.0, SETTINGS).verdict == "confirmed"
    unchanged = [99.5, 100.5, 100.0, 99.8]
    assert compare_with_recorded(recorded, unchanged, 10.0, SETTINGS).verdict == "not_reproduced"


def test_comparing_without_pairs_is_an_error() -> None:
    with pytest.raises(ValueError, match="at least one pair"):
        compare_pairs([], 6.0, SETTINGS)
