"""One step of a bisection: is a build between two ends like the one or like the other?

The three are measured in turn, in rounds. What a round does to all of them cancels out of each
round's differences; how much processes scatter is known from all rounds of the search.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from dashboard.judgement.confirmation import Bounds
from dashboard.judgement.looks import reach_of
from dashboard.judgement.moderation import Floats

Likeness = Literal["like_base", "like_new", "unclear"]
HALFWAY = 0.5  # between the ends: less is like base, more is like new


class Round(NamedTuple):
    """Values of a process of each end and of one build between, measured in turn, in logs where
    these exist; NaN where the candidate brought nothing.
    """

    base: float
    candidate: float
    new: float


class Step(NamedTuple):
    """Evidence on a candidate. Intervals are infinite where too few rounds say anything.

    share: how far from base to new it lies, 0 … 1.
    change, ends: what it and the new end do, against base.
    differ: whether the ends do; None is not known yet.
    """

    likeness: Likeness
    share: Bounds
    change: Bounds
    ends: Bounds
    differ: bool | None


def step(rounds: Mapping[int, Sequence[Round]], candidate: int, threshold: float) -> Step:
    """Judge a candidate by its own rounds, with the spread that all rounds of the search show.

    rounds: by candidate. threshold: of a change of the ends that is worth a search.

    The contrast c − (base + new) / 2 of a round has 3/2, the ends' difference new − base 2 times
    the variance of a process; the two are independent (Scheffé 1959, section 3.5). So it is pooled
    from the contrasts about their candidate's mean and the differences about that of all. A
    candidate is looked at a few times: intervals as in looks.py.
    """
    contrasts = {build: _contrasts(several) for build, several in rounds.items()}
    differences = np.array(
        [each.new - each.base for several in rounds.values() for each in several]
    )
    own = contrasts[candidate]
    residuals = [
        differences / math.sqrt(2),
        *(each / math.sqrt(1.5) for each in contrasts.values()),
    ]
    squares = sum(float(each.var() * len(each)) for each in residuals if len(each))
    freedom = sum(len(each) - 1 for each in residuals if len(each))
    reach = math.inf
    if freedom:
        reach = float(reach_of(np.array(float(freedom)))) * math.sqrt(squares / freedom)

    ends = _bounds(differences, reach * math.sqrt(2))
    differ: bool | None = None
    if ends.low > 0 or ends.high < 0:
        differ = True
    elif max(-ends.low, ends.high) <= threshold:
        differ = False
    changes = np.array([each.candidate - each.base for each in rounds[candidate]])
    change = _bounds(changes[np.isfinite(changes)], reach * math.sqrt(2))
    share = Bounds(math.nan, -math.inf, math.inf)
    if ends.mean and len(own):
        share = _bounds(HALFWAY + own / ends.mean, reach * math.sqrt(1.5) / abs(ends.mean))
    likeness: Likeness = "unclear"
    if share.high < HALFWAY:
        likeness = "like_base"
    elif share.low > HALFWAY:
        likeness = "like_new"
    return Step(likeness, share, change, ends, differ)


def _contrasts(rounds: Sequence[Round]) -> Floats:
    contrasts: Floats = np.array([each.candidate - (each.base + each.new) / 2 for each in rounds])
    finite: Floats = contrasts[np.isfinite(contrasts)]
    return finite


def _bounds(values: Floats, reach_of_one: float) -> Bounds:
    """The mean of values whose errors reach so far each."""
    if not len(values):
        return Bounds(math.nan, -math.inf, math.inf)
    mean, reach = float(values.mean()), reach_of_one / math.sqrt(len(values))
    return Bounds(mean, mean - reach, mean + reach)
