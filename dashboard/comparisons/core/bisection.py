"""Which of two builds a third is like, for the search of the neighbours between which a case
changed. Pure.

The middle build is measured in turn with both ends. Its level is compared with the middle between
theirs, so that each step asks one question whatever the size of the change, and a case that changed
more than once still ends with a pair of neighbours between which it crossed the middle.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from scipy.stats import t as student

from dashboard.comparisons.core.metric_effects import CaseSamples, judge_all
from dashboard.comparisons.core.ratios import Level
from dashboard.language.metrics import Metric

Verdict = Literal["like_base", "like_new", "unknown"]
Build = TypeVar("Build")

# Of one decision: a search has several, and each may look again after more repeats
CONFIDENCE = 0.995
LEAST = 0.5  # of the way between the ends: less is like base, more is like new


@dataclass(frozen=True, slots=True)
class Decision:
    """share: how far from base to new the middle build lies, 0 … 1, with its interval; infinite
    ends are unknown.
    """

    verdict: Verdict
    share: float
    low: float
    high: float


def middle(between: Sequence[Build]) -> Build:
    """The one that halves what is left, whichever way it goes."""
    return between[len(between) // 2]


def ends_differ(base: CaseSamples, new: CaseSamples, metric: Metric) -> bool | None:
    """Whether there is a change to search for; None: measure more."""
    [effect] = judge_all([(base, new)], metric)
    if effect.ratio is None:
        return {"same": False, "unknown": None}.get(effect.verdict, True)
    if not effect.is_within and effect.ratio.p < 1 - CONFIDENCE and abs(effect.ratio.percent) > 0:
        return True
    return False if effect.verdict == "same" and not effect.is_within else None


def decide(base: CaseSamples, candidate: CaseSamples, new: CaseSamples) -> Decision:
    """Which end `candidate` is like: the contrast candidate − (base + new) / 2 against 0.

    A linear contrast of means with pooled variance (Scheffé 1959, section 3.3), Student's t; on
    logs where values are positive. The variance is at least that within the processes.
    """
    parts = (base, candidate, new)
    levels = [part.level for part in parts]
    if all(levels):
        return _decided([level for level in levels if level])
    return _decided([_plain(part) for part in parts])


def _plain(part: CaseSamples) -> Level:
    """Counts and zeros: their own values in place of logs, as if each process had told the same."""
    spread = (part.most - part.least) ** 2 / 4 * part.n
    return Level(part.n, part.mean, spread, math.nan)


def _decided(levels: Sequence[Level]) -> Decision:
    base, candidate, new = levels
    whole = new.mean - base.mean
    if whole == 0:
        return Decision("unknown", math.nan, -math.inf, math.inf)
    error, freedom = _error(levels)
    share = (candidate.mean - base.mean) / whole
    reach = (
        float(student.ppf(0.5 + CONFIDENCE / 2, freedom)) * error / abs(whole)
        if freedom
        else math.inf
    )
    low, high = share - reach, share + reach
    verdict: Verdict = "like_base" if high < LEAST else "like_new" if low > LEAST else "unknown"
    return Decision(verdict, share, low, high)


def _error(levels: Sequence[Level]) -> tuple[float, int]:
    """Standard error of the contrast, and its degrees of freedom."""
    weights = (0.25, 1.0, 0.25)
    freedom = sum(level.n - 1 for level in levels)
    pooled = sum(level.m2 for level in levels) / freedom if freedom else 0.0
    between = sum(weight * pooled / level.n for weight, level in zip(weights, levels, strict=True))
    within = sum(
        weight * level.within / level.n
        for weight, level in zip(weights, levels, strict=True)
        if not math.isnan(level.within)
    )
    return math.sqrt(max(between, within)), freedom


def most_steps(builds: int) -> int:
    """How many builds are measured at most to search between `builds` of them."""
    return builds.bit_length()
