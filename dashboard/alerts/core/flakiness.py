"""Is a case that passes and fails by turns flaky? Pure: readings in, an answer out.

A change of the status while the build stayed cannot be the build's doing and counts one; with
another build it may be, and counts a half. So a regression that is mended and comes back is told as
what it is, a flaky case is told once.
"""

from collections.abc import Sequence
from itertools import pairwise

from dashboard.results.core.series_points import SeriesPoint

WINDOW = 20
"""Points that are looked at, the newest ones."""
ENOUGH = 3.0
"""Changes in the window that make a case flaky: at the earliest its second failure."""
SETTLED = 10
"""Points in a row with one answer after which it is no longer flaky."""


def is_flaky(readings: Sequence[SeriesPoint]) -> bool:
    """Whether the status of the newest readings, oldest first, went to and fro."""
    newest = readings[-WINDOW:]
    turns = [(one, two) for one, two in pairwise(newest) if passes(one) != passes(two)]
    return sum(1.0 if one.build == two.build else 0.5 for one, two in turns) >= ENOUGH


def has_settled(readings: Sequence[SeriesPoint]) -> bool:
    """Whether the newest readings all passed, or all failed."""
    newest = readings[-SETTLED:]
    return len(newest) == SETTLED and len({passes(one) for one in newest}) == 1


def passes(reading: SeriesPoint) -> bool:
    return reading.status == "pass"


def in_words(readings: Sequence[SeriesPoint]) -> str:
    """ "It passes and fails by turns: 4 of the last 20 points failed."""
    newest = readings[-WINDOW:]
    failed = sum(not passes(one) for one in newest)
    return f"Flaky: it passes and fails by turns; {failed} of the last {len(newest)} points failed."
