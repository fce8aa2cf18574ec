"""The smallest change that a series can show."""

from dashboard.detection import SeriesState, Settings, judge, smallest_change_shown
from dashboard.detection.tables import Floats
from tests.builders.detection import points, quiet


def can_show(values: Floats | list[float]) -> float | None:
    state, _ = judge(points(values), SeriesState(Settings()))
    return smallest_change_shown(state)


def test_can_show_is_a_float_where_the_threshold_is_given_as_an_int() -> None:
    """All that are judged together are stored in one array, which has one type."""
    state, _ = judge(points([5.0] * 30), SeriesState(Settings(threshold_percent=1)))
    assert type(smallest_change_shown(state)) is float


def test_can_show_is_larger_where_the_noise_is() -> None:
    smaller = can_show(100 + (quiet(150) - 100) * 2)
    larger = can_show(100 + (quiet(150) - 100) * 6)
    assert smaller is not None
    assert larger is not None
    assert 2 < smaller < larger


def test_can_show_is_the_threshold_where_noise_does_not_matter() -> None:
    assert can_show(100 + (quiet(100) - 100) / 20) == 2
    assert can_show([5.0] * 30) == 2


def test_young_series_cannot_say_what_it_can_show() -> None:
    assert can_show(quiet(15)) is None
