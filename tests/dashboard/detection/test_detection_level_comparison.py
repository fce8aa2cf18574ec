"""Two levels side by side."""

import numpy as np
import pytest

from dashboard.detection import Settings, compare_levels

SETTINGS = Settings(threshold_percent=2)


def test_levels_far_apart_are_changed() -> None:
    comparison = compare_levels([100.0, 101.0, 99.0, 100.5], [106.0, 107.0, 105.0, 106.5], SETTINGS)
    assert comparison.state == "changed"
    assert comparison.low < 6 < comparison.high


def test_levels_close_together_are_unchanged_within_the_threshold() -> None:
    assert (
        compare_levels([100.0, 100.1, 99.9, 100.0], [100.2, 100.3, 100.1, 100.2], SETTINGS).state
        == "unchanged"
    )


@pytest.mark.parametrize("new", [[100.0, 107.0, 97.0], [101.0, 101.9, 102.8]])
def test_what_could_be_either_is_unknown(new: list[float]) -> None:
    assert compare_levels([100.0, 101.0, 99.0], new, SETTINGS).state == "unknown"


def test_one_point_each_is_unknown() -> None:
    assert compare_levels([100.0], [150.0], SETTINGS).state == "unknown"


def test_outlier_is_not_an_effect() -> None:
    base = [100.0, 100.2, 99.8, 100.1, 99.9, 100.0, 100.1, 99.9, 100.0, 100.1]
    assert compare_levels(base, [*base[:9], 400.0], SETTINGS).state == "unchanged"


EXACT = [
    ("count", 3.0, "changed"),
    ("count", 2.0, "unchanged"),
    ("status", 1.0, "changed"),
    ("constant", 2.2, "changed"),
]


@pytest.mark.parametrize(("kind", "new", "state"), EXACT)
def test_exact_values_are_compared_as_they_are(kind: str, new: float, state: str) -> None:
    settings = Settings(kind=kind)  # type: ignore[arg-type]
    assert compare_levels([2.0], [new], settings).state == state


def test_base_of_zero_gives_a_difference() -> None:
    comparison = compare_levels([0.0, 0.0], [1.0, 1.0], SETTINGS)
    assert comparison.state == "changed"
    assert comparison.effect == 1.0
    assert comparison.unit == "difference"


def test_empty_side_is_refused() -> None:
    with pytest.raises(ValueError, match="at least one point"):
        compare_levels([], [1.0], SETTINGS)


def test_interval_covers_the_truth_as_often_as_it_says() -> None:
    generator = np.random.default_rng(3)
    covered = 0
    for _ in range(400):
        base, new = generator.normal(100, 2, 8), generator.normal(103, 2, 8)
        comparison = compare_levels(base.tolist(), new.tolist(), SETTINGS)
        covered += comparison.low <= 3 <= comparison.high
    assert 0.92 <= covered / 400 <= 0.98
