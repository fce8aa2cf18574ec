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
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log, sqrt
from typing import Literal

import numpy as np

from dashboard.detection import Settings, compare_levels
from dashboard.detection.points import Unit

FEWEST, MOST = 4, 12
"""Pairs before the first look, and pairs at most."""
NEW_ONLY_ROUNDS = 6
"""Processes of the new build where the base cannot be measured: compared once, with all of them."""
ALPHA = 0.05
SPREAD = 4.0
LEAST = 0.5
"""Not reproduced: the bounds exclude this share of what was suspected, or of a larger threshold."""

ConfirmationVerdict = Literal["confirmed", "not_reproduced", "inconclusive", "open"]
Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ConfirmationOutcome:
    """What the pairs say.

    verdict: "open" asks for one more pair.
    effect, low, high: new minus base, in `unit`.
    """

    verdict: ConfirmationVerdict
    effect: float
    low: float
    high: float
    unit: Unit
    pairs: int


def draw_order(generator: np.random.Generator) -> list[str]:
    """The builds in the order of measuring: of two pairs, one begins with base and one with new."""
    order: list[str] = []
    for _ in range(MOST // 2):
        first = ["base", "new"] if generator.random() < 0.5 else ["new", "base"]
        order += [*first, *reversed(first)]
    return order


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
    if settings.kind == "count" or min(min(pair) for pair in pairs) <= 0:
        differences = [new - base for base, new in pairs]
        low, high = bounds(differences)
        verdict = _verdict(low, high, suspected, 0.0, count, most)
        effect = float(np.mean(differences))
        return ConfirmationOutcome(verdict, effect, low, high, "difference", count)

    logarithms = [log(new / base) for base, new in pairs]
    low, high = map(_percent, bounds(logarithms))
    least = LEAST * max(settings.threshold_percent, abs(suspected))
    verdict = _verdict(low, high, suspected, least, count, most)
    effect = _percent(float(np.mean(logarithms)))
    return ConfirmationOutcome(verdict, effect, low, high, "percent", count)


def compare_with_recorded(
    before: Sequence[float], new: Sequence[float], suspected: float, settings: Settings
) -> ConfirmationOutcome:
    """The weaker verdict without the base build: `new` against the recorded level.

    They are compared once, so the interval is a plain one.
    """
    difference = compare_levels(before, new, settings)
    effect, low, high = difference.effect, difference.low, difference.high
    least = LEAST * max(settings.threshold_percent, abs(suspected))
    verdict: ConfirmationVerdict = "inconclusive"
    if difference.state == "changed":
        verdict = "confirmed" if effect * suspected > 0 else "not_reproduced"
    elif _excludes(low, high, suspected, least):
        verdict = "not_reproduced"
    return ConfirmationOutcome(verdict, effect, low, high, difference.unit, len(new))


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
    return ConfirmationOutcome(verdict, effect, effect, effect, unit, len(pairs))


def _verdict(
    low: float, high: float, suspected: float, least: float, pairs: int, most: int
) -> ConfirmationVerdict:
    """least: an effect of that size in the suspected direction reproduces the change."""
    if pairs < FEWEST:
        return "open"
    if _excludes(low, high, suspected, least):
        return "not_reproduced"
    if (low > 0 and suspected > 0) or (high < 0 and suspected < 0):
        return "confirmed"
    return "inconclusive" if pairs >= most else "open"


def _excludes(low: float, high: float, suspected: float, size: float) -> bool:
    """Whether the interval has nothing of that size in the suspected direction."""
    if suspected > 0:
        return high < size
    return low > -size


def _percent(logarithm: float) -> float:
    if logarithm >= 500:
        return inf
    return 100 * (exp(logarithm) - 1)
