"""A change of level that was seen, and where the next segment begins."""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.abstention import is_withheld
from dashboard.detection.cusum import REQUIRED, Evidence
from dashboard.detection.drift import PROVEN, Rise
from dashboard.detection.hindsight import Split
from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.points import ChangeCause, Settings, Verdict
from dashboard.detection.spread import Widening
from dashboard.detection.step_estimate import estimate_step
from dashboard.detection.tables import Floats
from dashboard.detection.value_scale import ValueScale

AFTER_DRIFT = 32
"""Points that the new level begins with after a drift: the newest ones, within which the drift has
hardly moved it.
"""
CERTAIN = 2.0
"""Share of the required evidence that another exact value stands for."""
FALSE_ALERT = 0.001
"""Probability that one point of pure noise shows the required evidence, by calibration."""
RARER_PER_NAT = 0.85
"""Beyond it, noise grows rarer by so many e-folds for each nat (docs/detection.md)."""


@dataclass(frozen=True, slots=True)
class LevelChange:
    """A level that was left.

    index: of the first point of the new level, in the series.
    starts: index at which the next segment starts; later than `index` where the change took long
        to show.
    effect, low, high: as in `Verdict`, whose other fields come from `before`, `after` and `share`.
    level_before, level_after: in the metric's unit.
    share: of the required evidence.
    is_return: as in `Verdict`.
    is_withheld: the series is not judged: nothing is reported.
    before, after: how values of the old and of the new level are read.
    """

    index: int
    starts: int
    cause: ChangeCause
    effect: float
    low: float
    high: float
    level_before: float
    level_after: float
    share: float
    before: ValueScale
    after: ValueScale
    is_return: bool = False
    is_withheld: bool = False

    def verdict(self) -> Verdict:
        """The change as the detector reports it."""
        # At the limit (share 1) it is FALSE_ALERT; the evidence beyond it, in nats, is
        # base × (share - 1)
        by_chance = FALSE_ALERT * np.exp(-RARER_PER_NAT * REQUIRED.base * (self.share - 1))
        return Verdict(
            state="noisier" if self.cause == "noise" else "changed",
            index=self.index,
            cause=self.cause,
            effect=self.effect,
            effect_low=self.low,
            effect_high=self.high,
            unit=self.before.unit,
            sure=1 - float(by_chance),
            level_before=self.level_before,
            level_after=self.level_after,
            is_return=self.is_return,
        )


def step_change(
    index: int, readings: Floats, evidence: Evidence, scale: ValueScale, model: NoiseModel
) -> LevelChange:
    """The step that the CUSUMs have evidence of. readings: (points,), the last one at `index`."""
    # The point before the run is needed, too
    length = min(evidence.length, len(readings) - 1)
    before, new = float(readings[-length - 1]), readings[-length:]
    estimate = estimate_step(new, before, model)
    effect, low, high = (scale.effect(model.level, model.level + step) for step in estimate)
    first = index + 1 - length
    level_after = scale.value(model.level + estimate.step)
    return LevelChange(
        index=first,
        starts=first,
        cause="step",
        effect=effect,
        low=low,
        high=high,
        level_before=scale.value(model.level),
        level_after=level_after,
        share=evidence.share,
        before=scale,
        after=ValueScale(level_after, scale.counts),
        is_withheld=is_withheld(estimate.step, model),
    )


def drift_change(
    index: int, start: int, rise: Rise, threshold: float, scale: ValueScale, model: NoiseModel
) -> LevelChange:
    """The drift of the segment that began at `start`, seen before the point at `index`.

    It is dated where its line crossed the threshold (percent).
    """
    points_to_now = index - 1 - start
    crossed = start + round(points_to_now * min(1.0, threshold / abs(rise.percent)))
    # The model's level is that of now: the line began a rise below it
    began = model.level - rise.percent
    reach = 1.96 * rise.error
    rises = (rise.percent, rise.percent - reach, rise.percent + reach)
    effect, low, high = (scale.effect(began, began + percent) for percent in rises)
    level_after = scale.value(model.level)
    return LevelChange(
        index=crossed,
        starts=index - AFTER_DRIFT,
        cause="drift",
        effect=effect,
        low=low,
        high=high,
        level_before=scale.value(began),
        level_after=level_after,
        share=abs(rise.percent) / rise.error / PROVEN,
        before=scale,
        after=ValueScale(level_after, scale.counts),
        is_withheld=is_withheld(rise.percent, model),
    )


def split_change(index: int, split: Split, scale: ValueScale) -> LevelChange:
    """The step among the first points, seen in hindsight, whose new level begins at `index`."""
    step = split.after - split.before
    reach = 1.96 * split.error
    effect, low, high = (
        scale.effect(split.before, split.before + size)
        for size in (step, step - reach, step + reach)
    )
    level_after = scale.value(split.after)
    return LevelChange(
        index=index,
        starts=index,
        cause="step",
        effect=effect,
        low=low,
        high=high,
        level_before=scale.value(split.before),
        level_after=level_after,
        share=split.share,
        before=scale,
        after=ValueScale(level_after, scale.counts),
    )


def wider_noise(
    index: int, ratio: float, widening: Widening, scale: ValueScale, model: NoiseModel
) -> LevelChange:
    """The growth of the spread to `ratio` times what it was, from the point at `index` on."""
    # The error of a standard deviation of n points is 1 / √(2n) of it
    reach = 1.96 * ratio / float(np.sqrt(2 * widening.length))
    effect, low, high = (100 * (size - 1) for size in (ratio, ratio - reach, ratio + reach))
    level = scale.value(model.level)
    return LevelChange(
        index=index,
        starts=index,
        cause="noise",
        effect=effect,
        low=low,
        high=high,
        level_before=level,
        level_after=level,
        share=CERTAIN,
        before=scale,
        after=scale,
    )


def constant_change(
    index: int, length: int, before: float, now: float, settings: Settings
) -> LevelChange:
    """The change of a series that held the value `before` and has shown another one, `now`, in its
    last `length` points. The last one is at `index`.
    """
    reference = 0.0 if settings.kind in ("count", "status") else before
    scale = ValueScale(reference, counts=False)
    effect = scale.effect(*scale.readings([before, now]).tolist())
    first = index + 1 - length
    return LevelChange(
        index=first,
        starts=first,
        cause="step",
        effect=effect,
        low=effect,
        high=effect,
        level_before=before,
        level_after=now,
        share=CERTAIN,
        before=scale,
        after=ValueScale(now, settings.kind == "count"),
    )
