"""The two forms of the detector agree, and its state can be put away and taken up again."""

import json
import time
from itertools import pairwise

import numpy as np
import pytest

from dashboard.detection import OnlineDetector, Settings, find_change_points, smallest_change_shown
from tests.builders.detection import Floats, online, points, quiet, series
from tests.perf.noise import KINDS


def eventful(kind: str, seed: int) -> Floats:
    """A series of one kind of noise with two steps and a drift."""
    values = 100 + KINDS[kind](np.random.default_rng(seed), (1, 400))[0]
    values[90:] *= 1.06
    values[170:] *= 0.95
    return np.asarray(values + np.linspace(0, 3, 400))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("seed", range(4))
def test_the_online_form_tells_the_same_at_the_same_points(kind: str, seed: int) -> None:
    given = points(eventful(kind, seed))
    told = [place for place, verdict in enumerate(online(given)) if verdict.state == "changed"]
    assert told == [change.seen_at for change in find_change_points(given, Settings())]


@pytest.mark.parametrize("kind", KINDS)
def test_a_stored_detector_goes_on_where_it_was(kind: str) -> None:
    given = points(eventful(kind, 9))
    kept = OnlineDetector(Settings())
    stored = OnlineDetector(Settings())
    for point in given:
        expected = kept.update(point)
        stored = OnlineDetector.restored(json.loads(json.dumps(stored.state())))
        assert stored.update(point) == expected


def test_the_state_does_not_grow_with_the_history() -> None:
    detector = OnlineDetector(Settings())
    for point in points(quiet(3000)):
        detector.update(point)
    assert len(json.dumps(detector.state())) < 10_000


def test_a_state_of_another_version_is_refused() -> None:
    with pytest.raises(ValueError, match="version 0"):
        OnlineDetector.restored({**OnlineDetector(Settings()).state(), "version": 0})


def test_one_more_point_costs_well_under_a_millisecond_after_a_long_history() -> None:
    detector = OnlineDetector(Settings())
    marks = []
    for point in points(quiet(4000)):
        detector.update(point)
        marks.append(time.process_time())
    assert np.median([after - before for before, after in pairwise(marks[-1000:])]) < 0.001


def test_can_show_is_larger_where_the_noise_is() -> None:
    calm = points(100 + (quiet(150) - 100) * 2)
    wild = points(100 + (quiet(150) - 100) * 6)
    smaller, larger = (smallest_change_shown(given, Settings()) for given in (calm, wild))
    assert smaller is not None
    assert larger is not None
    assert 2 < smaller < larger


def test_can_show_is_the_threshold_where_noise_is_no_matter() -> None:
    assert smallest_change_shown(points(100 + (quiet(100) - 100) / 20), Settings()) == 2
    assert smallest_change_shown(points([5.0] * 30), Settings()) == 2


def test_a_young_series_cannot_say_what_it_can_show() -> None:
    assert smallest_change_shown(points(quiet(15)), Settings()) is None


def test_can_show_asks_for_settings() -> None:
    with pytest.raises(ValueError, match="Settings"):
        smallest_change_shown(series(0.0, 10, 40))
