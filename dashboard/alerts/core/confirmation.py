"""Does a change reproduce when base and new build are measured in turn? Pairs in, a verdict out.
Pure; dashboard/judgement/confirmation.py has the sequential test.

The replicate is a process: one pair is one fresh process on each build.

**Smaller than reported**: the detector's first estimate may be too large. An interval on the
reported side of 0 confirms the change whatever was estimated, unless it excludes half of the
metric's threshold; where it excludes half of the estimate, the outcome is `smaller`.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from math import exp, inf, log

import numpy as np

from dashboard.detection import Settings, compare_levels
from dashboard.detection.points import Unit
from dashboard.judgement.confirmation import FEWEST, LEAST, MOST, Bounds, Ending, bounds, ending

WARM_UPS = 1
"""Pairs of processes that are measured first and not compared: a build that has just been
installed, or a machine that was idle, makes the first process slow."""
NEW_ONLY_ROUNDS = 6
"""Processes of the new build where the base cannot be measured: compared once, with all of them."""

Pair = tuple[float, float]


@dataclass(frozen=True, slots=True)
class ConfirmationOutcome:
    """Result of comparing the pairs.

    verdict: "open" asks for one more pair.
    effect, low, high: new minus base, in `unit`.
    smaller: confirmed, but less than half of what was suspected.
    """

    verdict: Ending
    effect: float
    low: float
    high: float
    unit: Unit
    pairs: int
    smaller: bool = False


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

    `most` may be raised later (somebody asks to measure on): of changes that are not there 3.3% are
    confirmed with up to 24 pairs, 2.3% with 12.

    suspected: the effect that the detector saw, in percent, or the plain difference for counts and
        status words; its sign is the direction that has to reproduce.

    Raises ValueError without pairs.
    """
    if not pairs:
        raise ValueError("compare_pairs needs at least one pair; there is nothing to compare")
    if settings.kind == "status" or all(pair == pairs[0] for pair in pairs):
        return _compare_exact(pairs, suspected, settings, most)
    unit: Unit
    if settings.kind == "count" or min(min(pair) for pair in pairs) <= 0:
        unit, least = "difference", 0.0
        seen = bounds([new - base for base, new in pairs])
    else:
        unit, least = "percent", LEAST * settings.threshold_percent
        seen = Bounds(*map(_percent, bounds([log(new / base) for base, new in pairs])))
    turned = _turned(seen, suspected)
    verdict = ending(turned, len(pairs), abs(suspected), least, most)
    smaller = verdict == "confirmed" and turned.high < LEAST * abs(suspected)
    return ConfirmationOutcome(verdict, *seen, unit, len(pairs), smaller)


def compare_with_recorded(
    before: Sequence[float], new: Sequence[float], suspected: float, settings: Settings
) -> ConfirmationOutcome:
    """The weaker verdict without the base build: `new` against the recorded level.

    They are compared once, so the interval is a plain one.
    """
    difference = compare_levels(before, new, settings)
    seen = Bounds(difference.effect, difference.low, difference.high)
    turned, size = _turned(seen, suspected), abs(suspected)
    verdict: Ending = "inconclusive"
    if difference.state == "changed":
        verdict = "confirmed" if turned.mean > 0 else "not_reproduced"
    elif turned.high < LEAST * max(settings.threshold_percent, size):
        verdict = "not_reproduced"
    smaller = verdict == "confirmed" and turned.high < LEAST * size
    return ConfirmationOutcome(verdict, *seen, difference.unit, len(new), smaller)


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
    verdict: Ending = "open"
    if len(pairs) >= FEWEST and (not any(moved) or is_small):
        verdict = "not_reproduced"
    elif len(pairs) >= FEWEST and all(moved):
        verdict = "confirmed"
    elif len(pairs) >= most:
        verdict = "inconclusive"
    is_less = settings.kind != "status" and abs(effect) < LEAST * abs(suspected)
    smaller = verdict == "confirmed" and is_less
    return ConfirmationOutcome(verdict, effect, effect, effect, unit, len(pairs), smaller)


def _turned(seen: Bounds, suspected: float) -> Bounds:
    """The same with the suspected direction upwards."""
    return seen if suspected > 0 else Bounds(-seen.mean, -seen.high, -seen.low)


def _percent(logarithm: float) -> float:
    if logarithm >= 500:
        return inf
    return 100 * (exp(logarithm) - 1)
