"""The stop rule of a confirmation: pairs in, its end out.

After each pair from FEWEST on the interval of the pairs' mean is looked at, as in looks.py: each p
counts as many times as there are planned looks. Here there are more, one for each pair; the looks
depend on each other so much that all of them together keep the error nevertheless
(`python -m tests.lab.verdicts --cell confirmation`, also in heavy tails, outliers and modes).
"""

import math
from collections.abc import Sequence
from functools import cache
from typing import Literal, NamedTuple

import numpy as np

from dashboard.judgement.looks import reach_of

FEWEST, MOST = 4, 12
"""Pairs before the first look, and pairs at most."""
PLANNED = 4
"""Looks that those after each pair count for."""
LEAST = 0.5
"""Not reproduced: the interval excludes this share of what was suspected, or of a larger threshold.

Smaller: confirmed, and it excludes this share of what was suspected."""
Ending = Literal["confirmed", "not_reproduced", "inconclusive", "open"]


class Bounds(NamedTuple):
    """A mean with its interval; infinite before the first look."""

    mean: float
    low: float
    high: float


def bounds(differences: Sequence[float]) -> Bounds:
    """The mean of pairs' differences with its interval at one look."""
    mean = float(np.mean(differences))
    if len(differences) < FEWEST:
        return Bounds(mean, -math.inf, math.inf)
    error = float(np.std(differences, ddof=1)) / math.sqrt(len(differences))
    reach = _reach_of(len(differences) - 1) * error
    return Bounds(mean, mean - reach, mean + reach)


@cache
def _reach_of(freedom: int) -> float:
    return float(reach_of(np.array(float(freedom)), PLANNED))


def ending(seen: Bounds, pairs: int, suspected: float, least: float, most: int = MOST) -> Ending:
    """End of a confirmation after these pairs of at most so many; open asks for one more.

    suspected: the size that the detector saw. least: an effect that is worth an alert. All are
    positive in the direction that was suspected.

    An interval above 0 confirms whatever size was suspected, unless it excludes `least`. Where what
    was suspected is excluded, a smaller change that the estimate shows gets all pairs.
    """
    if pairs < FEWEST:
        return "open"
    if seen.low > 0 and seen.high >= least:
        return "confirmed"
    is_excluded = seen.high < LEAST * suspected
    if seen.high < least or (is_excluded and (seen.mean < least or pairs >= most)):
        return "not_reproduced"
    return "inconclusive" if pairs >= most else "open"
