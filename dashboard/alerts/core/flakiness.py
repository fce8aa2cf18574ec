"""Is a case that passes and fails by turns flaky? Pure: readings in, an answer out.

A change of the status while the build stayed cannot be the build's doing and counts one; with
another build it may be, and counts a half. So a regression that is fixed and comes back raises an
alert each time, and a flaky case raises one.
"""

from collections.abc import Sequence
from itertools import pairwise

from dashboard.results.core.series_points import SeriesPoint

WINDOW = 20
"""Points that are looked at, the newest ones."""
FLAKY_CHANGES = 3.0
"""Changes in the window that make a case flaky: at the earliest its second failure."""
SETTLED = 10
"""Points in a row with one answer after which it is no longer flaky."""


def is_flaky(readings: Sequence[SeriesPoint]) -> bool:
    """Test whether the status of the newest readings (oldest first) went to and fro."""
    newest = readings[-WINDOW:]
    changes = 0.0
    for before, after in pairwise(newest):
        if passes(before) != passes(after):
            changes += 1.0 if before.build == after.build else 0.5
    return changes >= FLAKY_CHANGES


def has_settled(readings: Sequence[SeriesPoint]) -> bool:
    """Test whether the newest readings all passed, or all failed."""
    newest = readings[-SETTLED:]
    answers = {passes(reading) for reading in newest}
    return len(newest) == SETTLED and len(answers) == 1


def passes(reading: SeriesPoint) -> bool:
    return reading.status == "pass"


def sentence(readings: Sequence[SeriesPoint]) -> str:
    """ "Flaky: it passes and fails by turns; 4 of the last 20 points failed."."""
    newest = readings[-WINDOW:]
    failed = sum(not passes(reading) for reading in newest)
    return f"Flaky: it passes and fails by turns; {failed} of the last {len(newest)} points failed."
