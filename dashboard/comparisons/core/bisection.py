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

import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.levels import Level
from dashboard.comparisons.core.metric_effects import estimate_effects
from dashboard.language.metrics import Metric

Likeness = Literal["like_base", "like_new", "unknown"]
Build = TypeVar("Build")

# Of one decision: a search has several, and each may be taken again after more repeats
CONFIDENCE = 0.995
HALFWAY = 0.5  # between the ends: less is like base, more is like new
# Squared, of the contrast candidate − (base + new) / 2
_SQUARED_WEIGHTS = (0.25, 1.0, 0.25)


@dataclass(frozen=True, slots=True)
class Decision:
    """share: how far from base to new the middle build lies, 0 … 1, with its interval; infinite
    ends are unknown.
    """

    verdict: Likeness
    share: float
    low: float
    high: float


def middle(between: Sequence[Build]) -> Build:
    """The one that halves what is left, whichever way it goes."""
    return between[len(between) // 2]


def ends_differ(base: CaseSamples, new: CaseSamples, metric: Metric) -> bool | None:
    """Whether there is a change to search for; None: measure more."""
    [effect] = estimate_effects([(base, new)], metric)
    if effect.ratio is None:
        return {"same": False, "unknown": None}.get(effect.verdict, True)
    if effect.lacks:
        return None
    if effect.ratio.p < 1 - CONFIDENCE and abs(effect.ratio.percent) > 0:
        return True
    return False if effect.verdict == "same" else None


def decide(base: CaseSamples, candidate: CaseSamples, new: CaseSamples) -> Decision:
    """Which end `candidate` is like: the contrast candidate − (base + new) / 2 against 0.

    A linear contrast of means with pooled variance (Scheffé 1959, section 3.3), Student's t; on
    logs where values are positive. The variance is at least that within the processes.
    """
    builds = (base, candidate, new)
    levels = [samples.level for samples in builds if samples.level]
    if len(levels) < len(builds):
        levels = [_level_without_logs(samples) for samples in builds]
    low_end, here, high_end = levels
    whole = high_end.mean - low_end.mean
    if whole == 0:
        return Decision("unknown", math.nan, -math.inf, math.inf)

    share = (here.mean - low_end.mean) / whole
    error, freedom = _contrast_error(levels)
    reach = math.inf
    if freedom:
        reach = float(scipy.stats.t.ppf(0.5 + CONFIDENCE / 2, freedom)) * error / abs(whole)
    low, high = share - reach, share + reach
    verdict: Likeness = "unknown"
    if high < HALFWAY:
        verdict = "like_base"
    elif low > HALFWAY:
        verdict = "like_new"
    return Decision(verdict, share, low, high)


def _level_without_logs(samples: CaseSamples) -> Level:
    """Counts and zeros: their own values in place of logs, all spread by half of their range."""
    squares = (samples.most - samples.least) ** 2 / 4 * samples.n
    return Level(samples.n, samples.mean, squares, math.nan, ())


def _contrast_error(levels: Sequence[Level]) -> tuple[float, int]:
    """Standard error of the contrast, and its degrees of freedom."""
    freedom = sum(level.n - 1 for level in levels)
    variance = 0.0
    if freedom:
        variance = sum(level.m2 for level in levels) / freedom
    weighted = list(zip(_SQUARED_WEIGHTS, levels, strict=True))
    between = sum(weight * variance / level.n for weight, level in weighted)
    within = sum(
        weight * level.within / level.n
        for weight, level in weighted
        if not math.isnan(level.within)
    )
    return math.sqrt(max(between, within)), freedom
