"""Steps, spikes, drifts and re-arming in series that vary."""

import numpy as np
import pytest

from dashboard.detection import Point, Settings
from tests.builders.detection import changes, points, quiet, reports, series


def test_step_is_reported_once_with_the_point_it_began_at() -> None:
    (change,) = changes(series(step=8.0, at=60, length=120))
    assert abs(change.index - 60) <= 1
    assert change.effect_low <= 8 <= change.effect_high
    assert change.cause == "step"
    assert change.unit == "percent"


def test_step_downwards_is_reported_as_well() -> None:
    (change,) = changes(series(step=-5.0, at=60, length=120))
    assert change.effect < -3


def test_noise_alone_is_not_a_change() -> None:
    assert changes(series(step=0.0, at=60, length=300)) == []


def test_single_spike_is_not_a_level() -> None:
    values = quiet(100)
    values[50] += 40
    assert changes(points(values)) == []


def test_level_of_three_points_is_reported_and_so_is_the_way_back() -> None:
    values = quiet(100)
    values[60:63] += 60
    there, back = reports(points(values))
    assert (there.verdict.index, there.seen_at) == (60, 62)
    assert (back.verdict.index, back.seen_at) == (63, 65)
    assert not there.verdict.is_return
    assert back.verdict.is_return


def test_short_level_leaves_no_second_mode_behind() -> None:
    values = quiet(160)
    # Too small, and its level too young, for the way back to be reported at once
    values[60:64] += 14
    later = [change.index for change in changes(points(values)) if change.index > 68]
    assert later == []


def test_two_spikes_in_a_row_are_not_a_level() -> None:
    values = quiet(100)
    values[50:52] += 40
    assert changes(points(values)) == []


def test_detector_re_arms_on_the_new_level() -> None:
    values = quiet(200)
    values[60:] += 8
    values[130:] += 8
    first, second = changes(points(values))
    assert abs(first.index - 60) <= 2
    assert abs(second.index - 130) <= 2


# It is estimated from three points, whose noise grows as they do
@pytest.mark.parametrize(("factor", "within"), [(0.3, 6.0), (3.0, 10.0)])
def test_step_far_beyond_the_noise_has_the_right_size(factor: float, within: float) -> None:
    values = quiet(80)
    values[40:] *= factor
    (change,) = changes(points(values))
    assert change.index == 40
    assert change.effect == pytest.approx(100 * (factor - 1), abs=within)


def test_interval_holds_the_step_whichever_of_two_modes_its_first_points_are_in() -> None:
    rng = np.random.default_rng(3)
    holds_it = []
    for size in rng.choice([12, 20, 30], 150):
        values = 100 + rng.normal(0, 1, 70) + rng.choice([-3, 3], 70)
        values[48:] += size
        change = next(change for change in changes(points(values)) if change.index > 45)
        holds_it.append(change.effect_low <= size <= change.effect_high)
    assert np.mean(holds_it) > 0.9


def test_step_far_below_the_threshold_is_not_worth_reporting() -> None:
    values = 100 + (quiet(200) - 100) / 20
    values[100:] += 0.6
    assert changes(points(values), Settings(threshold_percent=2)) == []


def test_slow_drift_is_reported_as_drift_and_once() -> None:
    values = quiet(500) + 4 * np.arange(500) / 500
    (change,) = changes(points(values))
    assert change.cause == "drift"
    assert change.effect == pytest.approx(3, abs=1.5)


def test_point_with_a_wide_interval_weighs_less() -> None:
    values = quiet(46)
    values[40:] += 8
    narrow = []
    wide = []
    for place, value in enumerate(values.tolist()):
        half_width = 20 if place >= 40 else 0.5
        narrow.append(Point(value, value - 0.5, value + 0.5, place))
        wide.append(Point(value, value - half_width, value + half_width, place))
    assert changes(narrow) != []
    assert changes(wide) == []


def test_negative_levels_are_judged_like_positive_ones() -> None:
    values = -quiet(80)
    values[40:] -= 8
    (change,) = changes(points(values))
    assert change.effect == pytest.approx(-8, abs=2)


@pytest.mark.parametrize("length", [0, 1, 20])
def test_series_too_short_to_judge_has_no_change(length: int) -> None:
    assert changes(points(quiet(60)[:length])) == []


@pytest.mark.parametrize("seed", range(6))
def test_level_of_five_points_is_reported_where_it_was_and_as_large_as_it_was(seed: int) -> None:
    values = 100 * np.exp(np.random.default_rng(seed).normal(0, 0.02, 120))
    values[60:65] *= 1.2
    there, back = changes(points(values))
    assert there.index >= 58
    assert back.index >= 64
    assert there.effect > 15
    assert back.effect < -12
