"""Steps, spikes and re-arming in series that vary."""

import numpy as np
import pytest

from dashboard.detection import Point, Settings, find_change_points
from tests.builders.detection import online, points, quiet, series


def test_a_step_is_told_once_with_the_point_it_began_at() -> None:
    (change,) = find_change_points(series(step=8.0, at=60, length=120), Settings())
    assert abs(change.index - 60) <= 1
    assert change.effect_low <= 8 <= change.effect_high
    assert (change.cause, change.unit) == ("step", "percent")
    assert change.position == 10 * change.index


def test_a_step_downwards_is_told_as_well() -> None:
    (change,) = find_change_points(series(step=-5.0, at=60, length=120), Settings())
    assert change.effect < -3


def test_noise_alone_is_no_change() -> None:
    assert find_change_points(series(step=0.0, at=60, length=300), Settings()) == []


def test_a_single_spike_is_no_level() -> None:
    values = quiet(100)
    values[50] += 40
    assert find_change_points(points(values), Settings()) == []


def test_a_level_of_three_points_is_told_and_so_is_the_way_back() -> None:
    values = quiet(100)
    values[60:63] += 60
    told = [
        (change.index, change.seen_at) for change in find_change_points(points(values), Settings())
    ]
    assert told == [(60, 62), (63, 65)]


def test_a_short_level_leaves_no_second_mode_behind() -> None:
    values = quiet(160)
    values[60:64] += 14  # too small, and its level too young, for the way back to be told at once
    assert [
        change.index
        for change in find_change_points(points(values), Settings())
        if change.index > 68
    ] == []


def test_two_spikes_in_a_row_are_no_level() -> None:
    values = quiet(100)
    values[50:52] += 40
    assert find_change_points(points(values), Settings()) == []


def test_the_detector_re_arms_on_the_new_level() -> None:
    values = quiet(200)
    values[60:] += 8
    values[130:] += 8
    first, second = find_change_points(points(values), Settings())
    assert (abs(first.index - 60) <= 2, abs(second.index - 130) <= 2) == (True, True)


@pytest.mark.parametrize("factor", [0.3, 3.0])
def test_a_step_far_beyond_the_noise_has_the_right_size(factor: float) -> None:
    values = quiet(80)
    values[40:] *= factor
    (change,) = find_change_points(points(values), Settings())
    assert change.index == 40
    assert change.effect == pytest.approx(100 * (factor - 1), abs=6)


def test_the_interval_of_a_step_holds_it_though_its_first_points_do_not_say_in_which_of_two_modes_they_are() -> (
    None
):
    rng, held = np.random.default_rng(3), []
    for size in rng.choice([12, 20, 30], 150):
        values = 100 + rng.normal(0, 1, 70) + rng.choice([-3, 3], 70)
        values[48:] += size
        told = next(
            one
            for one in online(points(values))
            if one.state == "changed" and (one.index or 0) > 45
        )
        assert told.effect_low is not None
        assert told.effect_high is not None
        held.append(told.effect_low <= size <= told.effect_high)
    assert np.mean(held) > 0.9


def test_a_step_far_below_the_threshold_is_not_worth_telling() -> None:
    values = 100 + (quiet(200) - 100) / 20
    values[100:] += 0.6
    assert find_change_points(points(values), Settings(threshold_percent=2)) == []


def test_a_slow_drift_is_told_as_drift_and_once() -> None:
    values = quiet(500) + 4 * np.arange(500) / 500
    (change,) = find_change_points(points(values), Settings())
    assert change.cause == "drift"
    assert change.effect == pytest.approx(3, abs=1.5)


def test_a_point_with_a_wide_interval_weighs_less() -> None:
    values = quiet(46)
    values[40:] += 8
    narrow = [
        Point(value, value - 0.5, value + 0.5, place) for place, value in enumerate(values.tolist())
    ]
    wide = [
        *narrow[:40],
        *(Point(point.value, point.value - 20, point.value + 20, 0) for point in narrow[40:]),
    ]
    assert find_change_points(narrow, Settings()) != []
    assert find_change_points(wide, Settings()) == []


def test_the_online_detector_suspects_before_it_tells() -> None:
    states = [verdict.state for verdict in online(series(step=5.0, at=60, length=70))]
    assert "suspected" in states[60 : states.index("changed")]
    assert states.count("changed") == 1


def test_negative_levels_are_judged_like_positive_ones() -> None:
    values = -quiet(80)
    values[40:] -= 8
    (change,) = find_change_points(points(values), Settings())
    assert change.effect == pytest.approx(-8, abs=2)


@pytest.mark.parametrize("length", [0, 1, 20])
def test_a_series_too_short_to_judge_has_no_change(length: int) -> None:
    assert find_change_points(points(quiet(60)[:length]), Settings()) == []


@pytest.mark.parametrize("seed", range(6))
def test_a_level_that_lasted_five_points_is_told_where_it_was_and_as_large_as_it_was(
    seed: int,
) -> None:
    values = 100 * np.exp(np.random.default_rng(seed).normal(0, 0.02, 120))
    values[60:65] *= 1.2
    there, back = find_change_points(points(values), Settings())
    assert 58 <= there.index <= there.seen_at
    assert 64 <= back.index <= back.seen_at
    assert there.effect > 15
    assert back.effect < -12
