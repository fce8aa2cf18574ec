"""The search between two builds, without a database: under noise and with gaps."""

import numpy as np
import pytest

from dashboard.comparisons.core.bisection import decide, ends_differ, middle
from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.levels import level_of
from dashboard.language.metrics import METRICS

LATENCY = METRICS["latency_ms"]
VERSIONS = [f"2.{minor}.0" for minor in range(1, 12)]


def samples(values: list[float]) -> CaseSamples:
    level, mean = level_of(values), float(np.mean(values))
    return CaseSamples(1, (), level, len(values), min(values), max(values), mean)


def draw(rng: np.random.Generator, middle: float, n: int, spread: float) -> list[float]:
    values: list[float] = (middle * np.exp(rng.normal(0, spread, n))).tolist()
    return values


def search(rng: np.random.Generator, levels: list[float], spread: float) -> tuple[int, int]:
    """The neighbours that a search over builds of these levels ends with; ends and middle get two
    processes a round.
    """
    low, high = 0, len(levels) - 1
    base: list[float] = []
    new: list[float] = []
    while high - low > 1:
        candidate = middle(range(low + 1, high))
        values: list[float] = []
        verdict = "unknown"
        while verdict == "unknown":
            base += draw(rng, levels[0], 2, spread)
            values += draw(rng, levels[candidate], 2, spread)
            new += draw(rng, levels[-1], 2, spread)
            verdict = decide(samples(base), samples(values), samples(new)).verdict
        if verdict == "like_base":
            low = candidate
        else:
            high = candidate
    return low, high


@pytest.mark.parametrize("effect", [1.05, 0.93])
def test_searches_under_noise_end_at_the_right_pair(effect: float) -> None:
    rng = np.random.default_rng(3)
    right = 0
    for _ in range(60):
        at = int(rng.integers(1, 16))
        levels = [1.0] * at + [effect] * (16 - at)
        right += search(rng, levels, spread=0.015) == (at - 1, at)
    assert right >= 57


def test_build_is_rarely_called_like_the_wrong_end() -> None:
    rng = np.random.default_rng(9)
    wrong = 0
    for _ in range(400):
        base, candidate, new = (samples(draw(rng, end, 3, 0.01)) for end in (1.0, 1.0, 1.05))
        wrong += decide(base, candidate, new).verdict == "like_new"
    assert wrong <= 2


def test_one_process_of_each_build_decides_nothing() -> None:
    assert decide(samples([1.0]), samples([1.0]), samples([1.2])).verdict == "unknown"


def test_counts_are_decided_by_their_values() -> None:
    zero, two = (CaseSamples(1, (), None, 2, value, value, value) for value in (0.0, 2.0))
    assert decide(zero, zero, two).verdict == "like_base"
    assert decide(zero, two, two).verdict == "like_new"


@pytest.mark.parametrize(("factor", "answer"), [(1.1, True), (1.0, False)])
def test_ends_are_compared_first(factor: float, answer: bool) -> None:
    base = [1.0, 1.002, 0.998]
    new = [value * factor for value in base]
    assert ends_differ(samples(base), samples(new), LATENCY) is answer


def test_ends_measured_in_one_process_each_are_not_known_yet() -> None:
    assert ends_differ(samples([1.0]), samples([1.5]), LATENCY) is None
