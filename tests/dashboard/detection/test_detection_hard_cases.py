"""Cases hidden from a test of single points: the beginning, the way back, the spread, the habit."""

import numpy as np
import pytest

from dashboard.detection import SeriesNoise, SeriesState, Settings, judge, usual_noise
from tests.builders.detection import changes, points, quiet, reports
from tests.lab.noise import KINDS, LEVEL

OTHERS = [SeriesNoise(0.5, 1.73, 150.0), SeriesNoise(0.48, 1.8, 150.0)] * 3


def test_drift_from_the_first_point_is_reported_as_drift() -> None:
    values = 100 + (quiet(200) - 100) / 4 + 10 * np.arange(200) / 200
    assert changes(points(values))[0].cause == "drift"


@pytest.mark.parametrize("at", [3, 10, 18])
def test_step_among_the_first_points_is_reported_in_hindsight(at: int) -> None:
    values = quiet(60)
    values[at:] += 10
    (change,) = changes(points(values))
    assert abs(change.index - at) <= 1
    assert change.effect_low <= 10 <= change.effect_high


def test_step_among_the_first_points_does_not_hide_a_later_one() -> None:
    values = quiet(140)
    values[10:] += 10
    values[100:] += 6
    assert [change for change in changes(points(values)) if abs(change.index - 100) <= 2]


@pytest.mark.parametrize("seed", range(5))
def test_way_back_from_a_young_level_is_reported_within_six_points(seed: int) -> None:
    values = quiet(100, seed)
    values[60:68] += 6
    back = [report for report in reports(points(values)) if report.verdict.is_return]
    assert [report.seen_at < 74 for report in back] == [True]


def test_series_that_is_back_is_judged_by_its_old_level() -> None:
    values = quiet(140)
    values[60:68] += 8
    values[100:] += 8
    there, back, again = changes(points(values))
    assert (there.is_return, back.is_return, again.is_return) == (False, True, False)
    assert again.level_before == pytest.approx(there.level_before, abs=1)


def test_bursts_are_a_habit_once_one_was_reported() -> None:
    values = quiet(240)
    for start in (60, 90, 150, 190):
        values[start : start + 4] += 12
    there = [change.index for change in changes(points(values)) if not change.is_return]
    assert there == [60]


def test_wider_spread_is_reported_as_such_and_not_as_a_step() -> None:
    values = quiet(200)
    values[100:] = 100 + 2.5 * (values[100:] - 100)
    states = {report.verdict.state for report in reports(points(values))}
    assert states == {"noisier"}


def test_step_is_not_a_wider_spread() -> None:
    values = quiet(140)
    values[80:] += 5
    assert "noisier" not in {report.verdict.state for report in reports(points(values))}


def test_rounded_values_are_not_changes() -> None:
    generator = np.random.default_rng(4)
    values = 100 + 4 * np.rint(generator.normal(0.3, 2, 300) / 4)
    assert changes(points(values)) == []


def test_few_or_young_series_say_nothing_of_what_is_usual() -> None:
    assert usual_noise(OTHERS[:4]) is None
    assert usual_noise([SeriesNoise(0.5, 2.0, 40.0)] * 8) is None


def test_young_series_that_borrows_its_noise_sees_a_step_sooner() -> None:
    generator = np.random.default_rng(8)
    delays: dict[bool, list[int]] = {False: [], True: []}
    for _ in range(30):
        values = LEVEL + KINDS["gaussian"](generator, (1, 70))[0]
        values[30:] += 5
        for borrows, seen in delays.items():
            usual = usual_noise([SeriesNoise(0.1, 2.0, 150.0)] * 6) if borrows else None
            _, reported = judge(points(values), SeriesState(Settings(), usual))
            seen.append(reported[0].seen_at if reported else len(values))
    assert np.median(delays[True]) < np.median(delays[False])
