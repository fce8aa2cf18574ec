"""Series that cannot be judged, or only late, and say so."""

import numpy as np
import pytest
from scipy.signal import lfilter

from dashboard.detection import OnlineDetector, Settings, smallest_change_shown
from tests.builders.detection import Floats, points, quiet


def wandering(length: int = 250) -> Floats:
    """AR(1) with a correlation of 0.95 and a deviation of 2 around 100."""
    fresh = np.random.default_rng(6).normal(0, 2 * np.sqrt(1 - 0.95**2), length)
    return np.asarray(100 + lfilter([1.0], [1.0, -0.95], fresh))


def after(values: Floats) -> OnlineDetector:
    """A detector that has seen the values."""
    detector = OnlineDetector(Settings())
    for point in points(values):
        detector.update(point)
    return detector


def states(detector: OnlineDetector, values: Floats) -> set[str]:
    """Collect what it says of more values."""
    return {detector.update(point).state for point in points(values)}


def test_wandering_series_says_that_it_is_not_judged() -> None:
    limit = after(wandering()).limit
    assert limit
    assert limit.reason == "wanders"
    assert limit.percent == pytest.approx(8, abs=4)


def test_series_that_is_not_judged_reports_and_suspects_nothing() -> None:
    detector = after(wandering())
    assert states(detector, wandering()[:30] + 4) == {"unchanged"}


def test_change_beyond_all_wandering_is_reported() -> None:
    detector = after(wandering())
    assert "changed" in states(detector, quiet(30) + 40)


def test_series_that_is_not_judged_cannot_say_what_it_can_show() -> None:
    assert smallest_change_shown(after(wandering())) is None


def test_reason_goes_away_when_the_history_allows_judging() -> None:
    detector = after(wandering())
    states(detector, quiet(250))
    assert detector.limit is None


def test_many_outliers_need_more_points() -> None:
    values = quiet(150)
    values[5::12] += 20
    detector = after(values)
    assert detector.limit
    assert detector.limit.reason == "bursts"
    assert "changed" not in states(detector, quiet(3) + 8)
    assert "changed" in states(detector, quiet(9)[3:] + 8)


def test_ordinary_and_young_series_have_no_limit() -> None:
    assert after(quiet(200)).limit is None
    assert after(quiet(10)).limit is None
