"""Plan of what to measure next: the pairs that a change still needs, from its own interval."""

import math
from dataclasses import dataclass

from dashboard.judgement.changes import REACHES, Change, threshold_of
from dashboard.judgement.looks import CERTAIN_PAIRS, LOOKS


@dataclass(frozen=True, slots=True)
class Outlook:
    """pairs: in all, at which a change is expected to be decided; None where no look does it.

    bound: how much worse than the base, percent, could be excluded with all pairs; the threshold
        that would decide where none does.
    """

    pairs: int | None
    bound: float


def outlook(change: Change) -> Outlook:
    """The next looks at which a change of a ratio is decided, if its estimate and spread stay.

    An interval narrows with √pairs. Decided is what leaves 0 (of an estimate that reaches the
    threshold), or the threshold for the worse.
    """
    threshold = threshold_of(change.metric)
    sign = 1 if change.metric.lower_is_better else -1
    worse = sign * change.effect
    half_width = (change.high - change.low) / 2
    if not math.isfinite(half_width):
        return Outlook(LOOKS[0], math.inf)
    bound = 100 * math.expm1(max(worse, 0) + half_width * math.sqrt(change.pairs / LOOKS[-1]))
    if change.grade == "likely":
        later = [pairs for pairs in LOOKS if pairs >= CERTAIN_PAIRS and pairs > change.pairs]
        return Outlook(min(later, default=None), bound)
    if change.verdict != "unclear":
        return Outlook(change.pairs, bound)

    room = threshold - worse
    if abs(change.effect) >= REACHES * threshold:
        room = max(room, abs(change.effect))
    if room <= 0:
        return Outlook(None, bound)
    expected = change.pairs * (half_width / room) ** 2
    for pairs in LOOKS:
        if pairs > change.pairs and pairs >= expected:
            return Outlook(pairs, bound)
    return Outlook(None, bound)
