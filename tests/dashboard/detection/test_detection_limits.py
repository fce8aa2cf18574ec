"""Series that cannot be judged, or only late, and say so."""

import numpy as np
import pytest
from scipy.signal import lfilter

from dashboard.detection import SeriesState, Settings, Verdict, judge, smallest_change_shown
from tests.builders.detection import Floats, points, quiet


def wandering(length: int = 250) -> Floats:
    """AR(1) with a correlation of 0.95 and a deviation of 2 around 100."""
    fresh = np.random.default_rng(6).normal(0, 2 * np.sqrt(1 - 0.95**2), length)
    return np.asarray(100 + lfilter([1.0], [1.0, -0.95], fresh))


def after(values: Floats) -> SeriesState:
    """A series that has shown the values."""
    return judge(points(values), SeriesState(Settings()))[0]


def changes(state: SeriesState, values: Floats) -> list[Verdict]:
    """The changes of level that more values show."""
    verdicts = [report.verdict for report in judge(points(values), state)[1]]
    return [verdict for verdict in verdicts if verdict.state == "changed"]


def test_wandering_series_says_that_it_is_not_judged() -> None:
    limit = after(wandering()).limit
    assert limit
    assert limit.reason == "wanders"
    assert limit.percent == pytest.approx(8, abs=4)


def test_series_that_is_not_judged_reports_nothing() -> None:
    assert changes(after(wandering()), wandering()[:30] + 4) == []


def test_change_beyond_all_wandering_is_reported() -> None:
    assert changes(after(wandering()), quiet(30) + 40) != []


def test_series_that_is_not_judged_cannot_say_what_it_can_show() -> None:
    assert smallest_change_shown(after(wandering())) is None


def test_reason_goes_away_when_the_history_allows_judging() -> None:
    state, _ = judge(points(quiet(250)), after(wandering()))
    assert state.limit is None


def test_many_outliers_need_more_points() -> None:
    values = quiet(150)
    values[5::12] += 20
    state = after(values)
    assert state.limit
    assert state.limit.reason == "bursts"
    assert changes(state, quiet(3) + 8) == []
    assert changes(state, quiet(9) + 8) != []


def test_ordinary_and_young_series_have_no_limit() -> None:
    assert after(quiet(200)).limit is None
    assert after(quiet(10)).limit is None
