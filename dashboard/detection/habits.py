"""Points that a new level must last: more than the outliers and bursts that a series has shown."""

import numpy as np

from dashboard.detection.tables import Bools, Floats, Ints

FEWEST_POINTS = 3
"""Points of a new level that are needed at least: two outliers in a row are noise."""
MOST_OF_BURST = 6
"""Points of a burst, at most: what lasts longer was a level."""
PAIRS_TO_BELIEVE = 2
"""Bursts of two points that are taken for bursts, and not for chance."""
LONGER_THAN_BURST = 3
"""Points by which a new level has to outlast the longest burst."""
OUTLYING, OUTLIER = 3.5, 5.0
"""Deviations from which a reading may be of a burst, and from which it is an outlier even where
tails are heavy.
"""
MANY_OUTLIERS, SHARE_OF_OUTLIERS = 4, 0.06
"""At least so many, and such a share of the points, are a habit: three in a row come by chance."""
FEWEST_IF_OUTLIERS = 5
FEWEST_IF_ROUNDED = 4
"""Where values are rounded to ticks near the noise, two or three are easily equal."""


def fewest_points(residuals: Floats, deviation: float, count: int) -> int:
    """Points that a new level needs after this window of residuals (WINDOW,), oldest first."""
    signs = np.sign(residuals) * (np.abs(residuals) > OUTLYING * deviation)
    is_outlying = signs != 0
    if is_outlying.sum() < 2:
        return FEWEST_POINTS
    lengths = _run_lengths(signs, is_outlying)
    # A single pair is what heavy tails show by chance
    shortest = 2 if int((lengths == 2).sum()) >= PAIRS_TO_BELIEVE else 3
    bursts = lengths[(lengths >= shortest) & (lengths <= MOST_OF_BURST)]
    fewest = FEWEST_POINTS
    outliers = (np.abs(residuals) > OUTLIER * deviation).sum()
    if outliers >= max(MANY_OUTLIERS, SHARE_OF_OUTLIERS * count):
        fewest = FEWEST_IF_OUTLIERS
    if len(bursts):
        fewest = max(fewest, int(bursts.max()) + LONGER_THAN_BURST)
    return fewest


def _run_lengths(signs: Floats, is_outlying: Bools) -> Ints:
    """Points of each run on one side that has ended, (runs,)."""
    # A run begins where the sign differs from the one before, and ends where the next one differs
    differs = signs[1:] != signs[:-1]
    ends = np.flatnonzero(differs)
    starts = np.concatenate([[0], ends[:-1] + 1])
    lengths: Ints = (ends - starts + 1)[is_outlying[ends]]
    return lengths
