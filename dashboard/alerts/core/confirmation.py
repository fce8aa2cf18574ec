"""Does a change reproduce when base and new build are measured in turn? Pairs in, a verdict out.
Pure.

**The test** is sequential: after each pair it may stop, and its bounds are valid whenever it does.
The differences of the pairs' logarithms are tested with the t-test's Bayes factor under the right
Haar prior on their spread and a normal prior of variance `SPREAD` on effect / spread. That is an
e-process under "no effect, whatever the spread" (Lai 1976, Ann. Statist. 4; Pérez-Ortiz, Lardy,
de Heide and Grünwald 2024, Ann. Statist. 52; Wang and Ramdas 2025, "Anytime-valid t-tests and
confidence sequences"), so the probability that it ever exceeds 1 / alpha is at most alpha (Ville
1939). The effects that it does not reject are an interval that covers the true one at every look
(`bounds`).

The replicate is a process: one pair is one fresh process on each build. Normal differences are
assumed; the tests simulate heavy tails, outliers, two modes and autocorrelation.

**The first pair is a warm-up** and not among the pairs that are compared: a build that has just
been installed, or a machine that was idle, makes the first process slow, and one pair that is far
off widens the interval for good. tests/lab/confirmation.py compares this with bounds that bear one
pair that is off: they confirm less, also where nothing is off.

**Smaller than reported**: the detector's first estimate may be too large. An interval on the
reported side of 0 confirms the change whatever was estimated, unless it excludes half of the
metric's threshold; where it excludes half of the estimate, the outcome is `smaller`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Literal

import numpy as np

from dashboard.detection import Settings, compare_levels
from dashboard.detection.points import Unit

FEWEST, MOST = 4, 12
"""Pairs before the first look, and pairs at most; the warm-up is not one of them."""
WARM_UPS = 1
"""Pairs of processes that are measured first and not compared."""
NEW_ONLY_ROUNDS = 6
"""Processes of the new build where the base cannot be measured: compared once, with all of them."""
ALPHA = 0.05
SPREAD = 4.0
LEAST = 0.5
"""Not reproduced: the bounds exclude this share of what was suspected, or of a larger threshold.

Smaller: confirmed, and they exclude this share of what was suspected."""

ConfirmationVerdict = Literal["confirmed", "not_reproduced", "inconclusive", "open"]
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ConfirmationOutcome:
    """What the pairs say.

    verdict: "open" asks for one more pair.
    effect, low, high: new minus base, in `unit`.
    smaller: confirmed, but less than half of what was suspected.
    """

    verdict: ConfirmationVerdict
    effect: float
    low: float
    high: float
    unit: Unit
    pairs: int
    smaller: bool = False


@dataclass(frozen=True, slots=True)
class _Change:
    """What the pairs show, turned so that the suspected direction is upwards.

    suspected: its size, as the detector saw it.
    least: an effect of that size is worth an alert.
    """

    effect: float
    low: float
    high: float
    suspected: float
    least: float

    @property
    def is_there(self) -> bool:
        return self.low > 0 and self.high >= self.least

    @property
    def is_smaller(self) -> bool:
        return self.is_there and self.high < LEAST * self.suspected


def draw_order(generator: np.random.Generator) -> list[str]:
    """The builds in the order of measuring: the warm-up, then of two pairs one begins with base
    and one with new.
    """
    order = _draw_first(generator)
    for _ in range(MOST // 2):
        first = _draw_first(generator)
        order += [*first, *reversed(first)]
    return order


def _draw_first(generator: np.random.Generator) -> list[str]:
    """One pair, in either order."""
    if generator.random() < 0.5:
        return ["base", "new"]
    return ["new", "base"]


def compare_pairs(
    pairs: Sequence[Pair], suspected: float, settings: Settings, most: int = MOST
) -> ConfirmationOutcome:
    """The verdict after these pairs of (base, new), of at most so many.

    The bounds hold at every number of pairs, so `most` may be raised later (somebody asks to
    measure on).

    suspected: the effect that the detector saw, in percent, or the plain difference for counts and
        status words; its sign is the direction that has to reproduce.

    Raises ValueError without pairs.
    """
    if not pairs:
        raise ValueError("compare_pairs needs at least one pair; there is nothing to compare")
    if settings.kind == "status" or all(pair == pairs[0] for pair in pairs):
        return _compare_exact(pairs, suspected, settings, most)
    count = len(pairs)
    unit: Unit
    if settings.kind == "count" or min(min(pair) for pair in pairs) <= 0:
        unit, least = "difference", 0.0
        differences = [new - base for base, new in pairs]
        low, high = bounds(differences)
        effect = float(np.mean(differences))
    else:
        unit, least = "percent", LEAST * settings.threshold_percent
        logarithms = [log(new / base) for base, new in pairs]
        low, high = map(_percent, bounds(logarithms))
        effect = _percent(float(np.mean(logarithms)))
    change = _turned(effect, low, high, suspected, least)
    verdict = _verdict(change, count, most)
    smaller = verdict == "confirmed" and change.is_smaller
    return ConfirmationOutcome(verdict, effect, low, high, unit, count, smaller)


def compare_with_recorded(
    before: Sequence[float], new: Sequence[float], suspected: float, settings: Settings
) -> ConfirmationOutcome:
    """The weaker verdict without the base build: `new` against the recorded level.

    They are compared once, so the interval is a plain one.
    """
    difference = compare_levels(before, new, settings)
    effect, low, high = difference.effect, difference.low, difference.high
    change = _turned(effect, low, high, suspected, LEAST * settings.threshold_percent)
    verdict: ConfirmationVerdict = "inconclusive"
    if difference.state == "changed":
        verdict = "confirmed" if change.effect > 0 else "not_reproduced"
    elif change.high < max(change.least, LEAST * change.suspected):
        verdict = "not_reproduced"
    smaller = verdict == "confirmed" and change.is_smaller
    return ConfirmationOutcome(verdict, effect, low, high, difference.unit, len(new), smaller)


def bounds(differences: Sequence[float]) -> tuple[float, float]:
    """The interval that covers the mean difference at every number of pairs, with probability
    1 - ALPHA.

    The means whose e-value is less than 1 / ALPHA (test_confirmation_pairs.py computes it); solved
    for the t at which the two are equal.
    """
    count = len(differences)
    freedom, grown = count - 1, 1 + count * SPREAD
    if freedom < 1:
        return -inf, inf
    # ((1 + t²/f) / (1 + t²/(f·grown))) ** (count / 2) = sqrt(grown) / alpha
    ratio = (sqrt(grown) / ALPHA) ** (2 / count)
    if ratio >= grown:
        return -inf, inf
    t_squared = freedom * (ratio - 1) / (1 - ratio / grown)
    middle = float(np.mean(differences))
    reach = sqrt(t_squared / count) * float(np.std(differences, ddof=1))
    return middle - reach, middle + reach


def _compare_exact(
    pairs: Sequence[Pair], suspected: float, settings: Settings, most: int
) -> ConfirmationOutcome:
    """Values that repeat exactly need no statistics, and status words have none."""
    moved = [(new - base) * suspected > 0 for base, new in pairs]
    base, new = pairs[-1]
    unit: Unit
    if settings.kind in ("count", "status") or not base:
        unit, effect, is_small = "difference", new - base, False
    else:
        unit, effect = "percent", 100 * (new / base - 1)
        is_small = abs(effect) < settings.threshold_percent
    verdict: ConfirmationVerdict = "open"
    if len(pairs) >= FEWEST and (not any(moved) or is_small):
        verdict = "not_reproduced"
    elif len(pairs) >= FEWEST and all(moved):
        verdict = "confirmed"
    elif len(pairs) >= most:
        verdict = "inconclusive"
    is_less = settings.kind != "status" and abs(effect) < LEAST * abs(suspected)
    smaller = verdict == "confirmed" and is_less
    return ConfirmationOutcome(verdict, effect, effect, effect, unit, len(pairs), smaller)


def _turned(effect: float, low: float, high: float, suspected: float, least: float) -> _Change:
    """The change with the suspected direction upwards."""
    if suspected > 0:
        return _Change(effect, low, high, suspected, least)
    return _Change(-effect, -high, -low, -suspected, least)


def _verdict(change: _Change, pairs: int, most: int) -> ConfirmationVerdict:
    if pairs < FEWEST:
        return "open"
    if change.is_there:
        return "confirmed"
    if change.high < change.least:
        return "not_reproduced"
    # What was reported is excluded; a smaller change that the estimate shows gets all pairs
    is_excluded = change.high < LEAST * change.suspected
    if is_excluded and (change.effect < change.least or pairs >= most):
        return "not_reproduced"
    return "inconclusive" if pairs >= most else "open"


def _percent(logarithm: float) -> float:
    if logarithm >= 500:
        return inf
    return 100 * (exp(logarithm) - 1)
