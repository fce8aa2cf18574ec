"""From which point on, and so since which build, a change is reported."""

from datetime import UTC, datetime, timedelta

import numpy as np
import pytest

from dashboard.detection import Settings
from dashboard.results.core.series_points import SeriesPoint, change_start

LATENCY = Settings(2.0)
FIRST = datetime(2026, 11, 1, tzinfo=UTC)


def points(values: list[float], new_build_at: int) -> list[list[SeriesPoint]]:
    """One reading a point; another build from this one on."""
    readings = []
    for hour, value in enumerate(values):
        reading = SeriesPoint(
            at=FIRST + timedelta(hours=hour),
            job=f"{hour}",
            build=hour >= new_build_at,
            environment=None,
            version=1,
            status="pass",
            value=value,
            low=value,
            high=value,
        )
        readings.append([reading])
    return readings


def noise(count: int, level: float, seed: int) -> list[float]:
    chance = np.random.default_rng(seed)
    values: list[float] = chance.normal(level, 1.0, count).tolist()
    return values


def step(between: list[float]) -> list[float]:
    """Twenty points of 100, some to be judged, five of 110; noise 1."""
    return [*noise(20, 100, 1), *between, *noise(5, 110, 2)]


@pytest.mark.parametrize("between", [[107.0], [104.0], [100.0], [104.0, 106.0]])
def test_change_near_a_new_build_began_with_it_unless_two_points_contradict(
    between: list[float],
) -> None:
    index = 20 + len(between)
    assert change_start(points(step(between), 20), index, LATENCY, False) == 20


@pytest.mark.parametrize("between", [[100.5, 99.0], [99.0, 100.2, 101.0]])
def test_change_after_points_that_stayed_did_not_begin_with_the_build_before_them(
    between: list[float],
) -> None:
    index = 20 + len(between)
    assert change_start(points(step(between), 20), index, LATENCY, False) == index


def test_change_before_a_new_build_did_not_begin_with_it_where_points_had_moved() -> None:
    moved = points(step([110.0, 109.0, 111.0]), 23)
    unclear = points(step([106.0, 103.0]), 22)
    assert change_start(moved, 20, LATENCY, False) == 20
    assert change_start(unclear, 20, LATENCY, False) == 22


def test_level_without_noise_has_no_doubt() -> None:
    values = [100.0] * 22 + [110.0] * 5
    assert change_start(points(values, 20), 22, LATENCY, False) == 22


def test_certain_index_stays() -> None:
    assert change_start(points(step([110.0]), 21), 20, LATENCY, True) == 20
