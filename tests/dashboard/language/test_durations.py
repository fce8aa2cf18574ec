"""Times as people say them."""

import pytest

from dashboard.language.durations import duration


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.42, "0.4 s"),
        (48.4, "48 s"),
        (200.0, "3 min 20 s"),
        (180.0, "3 min"),
        (1500.0, "25 min"),
        (7500.0, "2 h 5 min"),
        (7200.0, "2 h"),
        (260_000.0, "3 days"),
        (None, "–"),
    ],
)
def test_duration_has_two_units_at_most(seconds: float | None, text: str) -> None:
    assert duration(seconds) == text
