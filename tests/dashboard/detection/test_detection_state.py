"""A detector can be stored and go on later, and its state and cost do not grow."""

import json
import time
from itertools import pairwise

import numpy as np
import pytest

from dashboard.detection import SeriesState, Settings, UsualNoise, from_json, judge, to_json
from tests.builders.detection import Floats, points, quiet
from tests.lab.noise import KINDS


def eventful(kind: str, seed: int) -> Floats:
    """A series of one kind of noise with two steps and a drift."""
    values = 100 + KINDS[kind](np.random.default_rng(seed), (1, 400))[0]
    values[90:] *= 1.06
    values[170:] *= 0.95
    return np.asarray(values + np.linspace(0, 3, 400))


def stepped() -> SeriesState:
    """A series on a new level, with the noise of the one before."""
    return judge(points([*quiet(60), *(quiet(10) + 12)]), SeriesState(Settings()))[0]


@pytest.mark.parametrize("kind", KINDS)
def test_points_show_the_same_one_by_one_from_stored_states_as_together(
    kind: str,
) -> None:
    state = SeriesState(Settings())
    together, reports = judge(points(eventful(kind, 9)), state)
    one_by_one = []
    for point in points(eventful(kind, 9)):
        state, more = judge([point], from_json(json.loads(json.dumps(to_json(state)))))
        one_by_one += more
    assert one_by_one == reports
    assert to_json(state) == to_json(together)


def test_states_in_the_database_stay_readable() -> None:
    state = to_json(stepped())
    assert " ".join(sorted(state)) == (
        "bursts carried count counts device devices fewest held law left line nats next_fit recent "
        "rise ruler seen settings share spreads start sums usual usual_width version wider"
    )
    assert " ".join(state["held"]) == "value at odd run proven jumpy varied"
    assert " ".join(state["ruler"]) == "reference counts"
    assert " ".join(state["law"]) == (
        "level scale rho marginal known own shape half lower bar borrowed fewest"
    )
    assert " ".join(state["line"]) == "count total moment squares"


def test_stored_state_keeps_the_level_that_was_left_and_the_borrowed_noise() -> None:
    state = stored = SeriesState(Settings(), UsualNoise(0.4, 0.1, 0.6, 0.1))
    values = quiet(90)
    values[60:66] += 10
    for point in points(values):
        state, reports = judge([point], state)
        stored, same = judge([point], from_json(json.loads(json.dumps(to_json(stored)))))
        assert same == reports
    assert to_json(stored) == to_json(state)


def test_point_leaves_the_state_before_it_as_it_was() -> None:
    before = stepped()
    low, high = points([90.0, 130.0])
    _, first = before.after(high)
    before.after(low)
    _, again = before.after(high)
    assert again == first


def test_state_does_not_grow_with_the_history() -> None:
    state, _ = judge(points(quiet(3000)), SeriesState(Settings()))
    assert len(json.dumps(to_json(state))) < 10_000


def test_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 0"):
        from_json({**to_json(stepped()), "version": 0})


def test_one_more_point_costs_well_under_a_millisecond_after_a_long_history() -> None:
    state, _ = judge(points(quiet(3000)), SeriesState(Settings()))
    marks = []
    for point in points(quiet(1000, 6)):
        state, _ = judge([point], state)
        marks.append(time.process_time())
    assert np.median([after - before for before, after in pairwise(marks)]) < 0.001
