"""The smallest change that a series can show."""

import pytest

from dashboard.detection import Settings, smallest_change_shown
from tests.builders.detection import points, quiet, series


def test_can_show_is_larger_where_the_noise_is() -> None:
    calm = points(100 + (quiet(150) - 100) * 2)
    wild = points(100 + (quiet(150) - 100) * 6)
    smaller, larger = (smallest_change_shown(given, Settings()) for given in (calm, wild))
    assert smaller is not None
    assert larger is not None
    assert 2 < smaller < larger


def test_can_show_is_the_threshold_where_noise_does_not_matter() -> None:
    assert smallest_change_shown(points(100 + (quiet(100) - 100) / 20), Settings()) == 2
    assert smallest_change_shown(points([5.0] * 30), Settings()) == 2


def test_young_series_cannot_say_what_it_can_show() -> None:
    assert smallest_change_shown(points(quiet(15)), Settings()) is None


def test_can_show_needs_settings() -> None:
    with pytest.raises(ValueError, match="Settings"):
        smallest_change_shown(series(0.0, 10, 40))
