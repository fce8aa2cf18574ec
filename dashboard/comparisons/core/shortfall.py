"""Measurements to make next: the pairs that each open case needs, from its own interval. Pure."""

from dataclasses import dataclass

from dashboard.comparisons.core.judgement import Judgement
from dashboard.comparisons.core.matching import Key
from dashboard.judgement.looks import LOOKS
from dashboard.judgement.planning import outlook

MAX_REPEATS = LOOKS[-1]
"""Of one comparison. More are not proposed: noise of that size is better explained than averaged"""


@dataclass(frozen=True, slots=True)
class Shortfall:
    """Measurements that are missing.

    cases: that more pairs would decide. pairs: how many more each of them needs at most.
    hopeless: cases that no affordable number decides. bound: how much worse any of these could
        still be after all pairs, percent.
    """

    cases: list[Key]
    pairs: int
    hopeless: list[Key]
    bound: float


def shortfall(judgement: Judgement) -> Shortfall | None:
    """None where nothing is open, or nothing can be measured."""
    # What may have failed by accident, one more pair shows
    pairs = dict.fromkeys((failure.case.key for failure in judgement.undecided), 1)
    bounds: dict[Key, float] = {}
    for finding in judgement.open:
        key, change = finding.row.case.key, finding.change
        expected = outlook(change)
        if expected.pairs is None:
            bounds[key] = max(bounds.get(key, 0.0), expected.bound)
        else:
            pairs[key] = max(pairs.get(key, 1), expected.pairs - change.pairs)
    if not pairs and not bounds:
        return None
    most, bound = max(pairs.values(), default=0), max(bounds.values(), default=0.0)
    return Shortfall([*pairs], most, [*bounds], bound)
