"""One stretch: the points of one level. When its law is estimated anew, and what is told when it
ends.

Shared by the two forms of the detector: `online` (one point at a time) and `whole` (a series at
once). Both make the same decisions at the same points; a test compares them.
"""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.bank import REQUIRED
from dashboard.detection.drift import PROVEN
from dashboard.detection.law import ROW_FIELDS, WINDOW, Laws, carry, fit
from dashboard.detection.points import Cause, Settings
from dashboard.detection.ruler import Ruler
from dashboard.detection.shift import estimate
from dashboard.detection.tables import STUDENT, Floats

FIRST = 20
"""Points of a new series before it is judged."""
LAG = 12
"""The newest points are left out of a law where there are enough others: they may be the start of a
change.
"""
TRUSTED = 64
"""A new level's own points make its law when they are so many (or as many as the old law came
from).
"""
KEPT = WINDOW + LAG
"""Points that the online form keeps."""
AFTER_DRIFT = 32
"""Points that the new level begins with after a drift was told."""


@dataclass(frozen=True, slots=True)
class Alarm:
    """A level left. index: of the first point of the new one; seen_at: where it was told; both in
    the series.

    starts: where the new stretch begins (later than index if the step took long to show). effect,
        low, high: in the
    unit of `ruler`. levels: the old and the new one that `effect` lies between, in the metric's
    unit. share: evidence over what is required. ruler, law: how the old level was read (no law: it
    held one value); after: how the new one is.
    """

    index: int
    seen_at: int
    starts: int
    cause: Cause
    effect: float
    low: float
    high: float
    levels: tuple[float, float]
    share: float
    ruler: Ruler
    law: Laws | None
    after: Ruler


def next_fit(points: int) -> int:
    """After how many points of the stretch the law is estimated next: a third more at first, 48
    more later.
    """
    return points + min(max(points // 3, 1), 48)


def fitted_on(points: int) -> int:
    """How many of the first points of the stretch the law comes from."""
    return max(min(points, FIRST), points - LAG)


def laws_for(windows: Floats, carried: Laws | None, floor: float) -> Laws:
    """A law for each row of windows (rows, WINDOW; NaN where there is no point): the carried spread
    until the level has enough points of its own.
    """
    if carried is None:
        return fit(windows, floor)
    few = int((np.isfinite(windows).sum(axis=1) < min(TRUSTED, carried.known[0])).sum())
    if few == len(windows):
        return carry(carried, windows)
    return (
        join(carry(carried, windows[:few]), fit(windows[few:], floor))
        if few
        else fit(windows, floor)
    )


def join(first: Laws, second: Laws) -> Laws:
    """The rows of both; they share the tables of one mode."""
    rows = {
        name: np.concatenate([getattr(first, name), getattr(second, name)]) for name in ROW_FIELDS
    }
    own = np.arange(len(rows["shape"])) >= len(first.shape)
    rows["shape"][own & (rows["half"] > 0)] += len(first.tables) - len(STUDENT)
    return Laws(**rows, tables=np.vstack([first.tables, second.tables[len(STUDENT) :]]))


def sure(share: float) -> float:
    """1 minus the probability that a point of pure noise shows this share of the required evidence.

    At the limit it is 1 in 1,000 by calibration; beyond it, noise grows rarer by 0.85 a nat
    (docs/detection.md).
    """
    return 1 - 0.001 * float(np.exp(-0.85 * REQUIRED.base * (share - 1)))


def step_alarm(
    seen_at: int, readings: Floats, count: int, share: float, ruler: Ruler, law: Laws
) -> Alarm:
    """The alarm for a step whose run has `count` points. readings: of the stretch, the last one at
    seen_at.
    """
    count = min(count, len(readings) - 1)
    before, new = float(readings[-count - 1]), readings[-count:]
    step, low, high = estimate(new, before, law)
    level = float(law.level[0])
    effect, lower, upper = (ruler.effect(level, level + change) for change in (step, low, high))
    starts = seen_at + 1 - min(count, KEPT)
    levels = ruler.value(level), ruler.value(level + step)
    after = Ruler(levels[1], ruler.counts)
    index = seen_at + 1 - count
    return Alarm(
        index, seen_at, starts, "step", effect, lower, upper, levels, share, ruler, law, after
    )


def drift_alarm(
    seen_at: int, start: int, risen: float, error: float, threshold: float, ruler: Ruler, law: Laws
) -> Alarm:
    """The alarm for a drift over the stretch that began at `start`; dated where its line crossed
    the threshold.
    """
    crossed = start + round((seen_at - 1 - start) * min(1.0, threshold / abs(risen)))
    level = float(law.level[0])
    ends = (risen, risen - 1.96 * error, risen + 1.96 * error)
    effect, low, high = (ruler.effect(level - risen, level - risen + end) for end in ends)
    share = abs(risen) / error / PROVEN
    levels = ruler.value(level - risen), ruler.value(level)
    after = Ruler(levels[1], ruler.counts)
    return Alarm(
        crossed,
        seen_at,
        seen_at - AFTER_DRIFT,
        "drift",
        effect,
        low,
        high,
        levels,
        share,
        ruler,
        law,
        after,
    )


def held_alarm(seen_at: int, count: int, before: float, now: float, settings: Settings) -> Alarm:
    """The alarm of a series that held the value `before` and has shown another one `count`
    times.
    """
    ruler = Ruler(0.0 if settings.kind in ("count", "status") else before, False)
    effect = ruler.effect(*(float(reading) for reading in ruler.read(np.array([before, now]))))
    index, after = seen_at + 1 - count, Ruler(now, settings.kind == "count")
    return Alarm(
        index,
        seen_at,
        index,
        "step",
        effect,
        effect,
        effect,
        (before, now),
        2.0,
        ruler,
        None,
        after,
    )
