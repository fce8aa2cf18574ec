"""A detector can be stored and go on later, and its state and cost do not grow."""

import json
import time
from itertools import pairwise

import numpy as np
import pytest

from dashboard.detection import OnlineDetector, Settings, UsualNoise
from tests.builders.detection import Floats, points, quiet
from tests.lab.noise import KINDS


def eventful(kind: str, seed: int) -> Floats:
    """A series of one kind of noise with two steps and a drift."""
    values = 100 + KINDS[kind](np.random.default_rng(seed), (1, 400))[0]
    values[90:] *= 1.06
    values[170:] *= 0.95
    return np.asarray(values + np.linspace(0, 3, 400))


def stepped_detector() -> OnlineDetector:
    """A detector that watches a new level, with the noise of the one before."""
    detector = OnlineDetector(Settings())
    for point in points([*quiet(60), *(quiet(10) + 12)]):
        detector.update(point)
    return detector


@pytest.mark.parametrize("kind", KINDS)
def test_stored_detector_goes_on_where_it_was(kind: str) -> None:
    kept = OnlineDetector(Settings())
    stored = OnlineDetector(Settings())
    for point in points(eventful(kind, 9)):
        stored = OnlineDetector.restored(json.loads(json.dumps(stored.state())))
        assert stored.update(point) == kept.update(point)


def test_states_in_the_database_stay_readable() -> None:
    state = stepped_detector().state()
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


def test_stored_detector_keeps_the_level_that_was_left_and_the_borrowed_noise() -> None:
    kept = OnlineDetector(Settings(), UsualNoise(0.4, 0.1, 0.6, 0.1))
    stored = OnlineDetector(Settings(), UsualNoise(0.4, 0.1, 0.6, 0.1))
    values = quiet(90)
    values[60:66] += 10
    for point in points(values):
        stored = OnlineDetector.restored(json.loads(json.dumps(stored.state())))
        assert stored.update(point) == kept.update(point)
    assert stored.state() == kept.state()


def test_point_leaves_the_state_before_it_as_it_was() -> None:
    before = stepped_detector().series
    low, high = points([90.0, 130.0])
    _, first = before.after(high)
    before.after(low)
    _, again = before.after(high)
    assert again == first


def test_state_does_not_grow_with_the_history() -> None:
    detector = OnlineDetector(Settings())
    for point in points(quiet(3000)):
        detector.update(point)
    assert len(json.dumps(detector.state())) < 10_000


def test_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 0"):
        OnlineDetector.restored({**OnlineDetector(Settings()).state(), "version": 0})


def test_one_more_point_costs_well_under_a_millisecond_after_a_long_history() -> None:
    detector = OnlineDetector(Settings())
    marks = []
    for point in points(quiet(4000)):
        detector.update(point)
        marks.append(time.process_time())
    assert np.median([after - before for before, after in pairwise(marks[-1000:])]) < 0.001
