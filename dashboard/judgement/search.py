"""One step of a bisection: is a build between two ends like the one or like the other?

The three are measured in turn, in rounds. What a round does to all of them cancels out of each
round's contrast; how much processes scatter is known from all rounds of the search.
"""

import math
from collections.abc import Mapping, Sequence
from typing import Literal, NamedTuple

import numpy as np

from dashboard.judgement.looks import reach_of

Likeness = Literal["like_base", "like_new", "unclear"]
HALFWAY = 0.5  # between the ends: less is like base, more is like new


class Round(NamedTuple):
    """What the ends and one build between them measured in turn, in logs where these exist."""

    base: float
    candidate: float
    new: float


class Step(NamedTuple):
    """share: how far from base to new the candidate lies, 0 … 1, with its interval; infinite ends
    are unknown. differ: whether the ends do; None is not known yet.
    """

    likeness: Likeness
    share: float
    low: float
    high: float
    differ: bool | None


def step(rounds: Mapping[str, Sequence[Round]], candidate: str, threshold: float) -> Step:
    """Judge a candidate by its own rounds, with the spread that all rounds of the search show.

    rounds: by candidate. threshold: of a change of the ends that is worth a search.

    In each round the contrast c − (base + new) / 2 has 3/2, and the ends' difference new − base 2
    times the variance of a process; the two are independent (Scheffé 1959, section 3.5). So both
    estimate it: the contrasts about their candidate's mean, the differences about that of all.
    Each candidate is looked at a few times, each end's difference as well: intervals as in looks.
    """
    contrasts = {name: _contrasts(its_rounds) for name, its_rounds in rounds.items()}
    ends = np.array([each.new - each.base for several in rounds.values() for each in several])
    squares = float(((ends - ends.mean()) ** 2).sum()) / 2
    squares += sum(float(((each - each.mean()) ** 2).sum()) for each in contrasts.values()) / 1.5
    freedom = len(ends) - 1 + sum(len(each) - 1 for each in contrasts.values())
    if not freedom:
        return Step("unclear", math.nan, -math.inf, math.inf, None)
    quantile = float(reach_of(np.array(float(freedom))))
    variance = squares / freedom

    whole = float(ends.mean())
    reach_of_ends = quantile * math.sqrt(2 * variance / len(ends))
    differ: bool | None = None
    if abs(whole) > reach_of_ends:
        differ = True
    elif abs(whole) + reach_of_ends <= threshold:
        differ = False
    if not whole:
        return Step("unclear", math.nan, -math.inf, math.inf, differ)

    own = contrasts[candidate]
    share = HALFWAY + float(own.mean()) / whole
    reach = quantile * math.sqrt(1.5 * variance / len(own)) / abs(whole)
    likeness: Likeness = "unclear"
    if share + reach < HALFWAY:
        likeness = "like_base"
    elif share - reach > HALFWAY:
        likeness = "like_new"
    return Step(likeness, share, share - reach, share + reach, differ)


def _contrasts(rounds: Sequence[Round]) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    return np.array([each.candidate - (each.base + each.new) / 2 for each in rounds])
