"""What one metric of one case does between two sides: how much, how sure, better or worse. Pure."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import false_discovery_control

from dashboard.comparisons.core.levels import Level, merge_levels
from dashboard.comparisons.core.libraries import Libraries
from dashboard.comparisons.core.ratios import Ratio, estimate_ratios
from dashboard.detection.level_comparison import classify_interval
from dashboard.language import wording
from dashboard.language.metrics import Metric
from dashboard.language.wording import Tone, ValueChange

EffectVerdict = Literal["better", "worse", "same", "unknown"]

CHANGED = ("better", "worse")
FALSE_DISCOVERY_RATE = 0.05  # over the cases of one table
_TONES: dict[EffectVerdict, Tone] = {"better": "good", "worse": "bad"}
_LEAST_SHOWN_PERCENT = 0.05  # less is shown as unchanged


class CaseSamples(NamedTuple):
    """One metric under one benchmark version and library set: n values, one from each process.

    level: None where a value is not positive, which logs cannot take.
    least, most, mean: of the plain values.
    job: the newest one.
    """

    version: int
    libraries: Libraries
    level: Level | None
    n: int
    least: float
    most: float
    mean: float
    job: str = ""

    @property
    def value(self) -> float:
        return self.level.value if self.level else self.mean


@dataclass(frozen=True, slots=True)
class Effect:
    """How one metric of one case differs.

    ratio: None where only the plain difference is known.
    q: the smallest false discovery rate at which it is among the changed ones (Benjamini and
        Hochberg 1995); NaN without repeats.
    change: in words, toned by the verdict.
    """

    base: CaseSamples
    new: CaseSamples
    metric: Metric
    ratio: Ratio | None
    verdict: EffectVerdict
    q: float = math.nan

    @property
    def change(self) -> ValueChange:
        if self.ratio:
            return describe_change(self.ratio, self.verdict, self.metric)
        change = wording.effect(self.metric, self.difference, None, None, "difference")
        return _toned(change, self.verdict)

    @property
    def levels(self) -> tuple[float, float]:
        """The two sides that `change` is between: geometric means where it is a ratio, else plain
        means.
        """
        if self.ratio:
            return self.base.value, self.new.value
        return self.base.mean, self.new.mean

    @property
    def devices(self) -> str:
        """On which devices both sides ran, in words; empty where there was only one."""
        if self.ratio is None or not (self.base.level and self.new.level):
            return ""
        base = {group.device for group in self.base.level.device_groups}
        new = {group.device for group in self.new.level.device_groups}
        every, shared = len(base | new), len(base & new)
        if every < 2:
            return ""
        if base == new:
            return f"on the same {every} devices"
        if shared:
            return f"{shared} of {every} devices shared"
        return "on different devices"

    @property
    def difference(self) -> float:
        return self.new.mean - self.base.mean

    @property
    def is_significant(self) -> bool:
        return self.q <= FALSE_DISCOVERY_RATE and self.verdict in CHANGED

    @property
    def is_within(self) -> bool:
        """Whether its interval leaves out how much one process differs from the next."""
        return self.ratio is not None and self.ratio.basis in {"within", "none"}

    @property
    def size(self) -> float:
        """By which tables are sorted."""
        return abs(self.ratio.log if self.ratio else self.difference)


def pool_samples(samples: Sequence[CaseSamples]) -> CaseSamples:
    """All samples of one benchmark version as one."""
    if len(samples) == 1:
        return samples[0]
    n = sum(each.n for each in samples)
    level = None
    levels = [each.level for each in samples if each.level]
    if len(levels) == len(samples):
        level = merge_levels(levels)
    return CaseSamples(
        version=samples[0].version,
        libraries=samples[0].libraries,
        level=level,
        n=n,
        least=min(each.least for each in samples),
        most=max(each.most for each in samples),
        mean=math.fsum(each.mean * each.n for each in samples) / n,
        job=samples[-1].job,
    )


def estimate_effects(
    pairs: Sequence[tuple[CaseSamples, CaseSamples]],
    metric: Metric,
    kinds: Sequence[Hashable] | None = None,
    device_variance: float | None = None,
) -> list[Effect]:
    """The effects of one metric, in the order of `pairs`.

    They are judged together, because many cases show how much processes differ (those of one of
    `kinds` more than those of another), how much devices do (unless `device_variance` is given:
    device_effects.py), and how many changes chance alone would show.
    """
    is_plain = wording.is_count(metric) or metric.aggregate == "share"
    places, base, new = [], [], []  # of the pairs that make a ratio
    for place, (old, fresh) in enumerate(pairs):
        if old.level and fresh.level and not is_plain:
            places.append(place)
            base.append(old.level)
            new.append(fresh.level)
    alike = [kinds[place] for place in places] if kinds else ()
    ratios = estimate_ratios(base, new, alike, device_variance)
    judged = dict(zip(places, zip(ratios, _q_values(ratios), strict=True), strict=True))

    effects = []
    for place, (old, fresh) in enumerate(pairs):
        if place in judged:
            effects.append(effect_of(old, fresh, *judged[place], metric))
        else:
            effects.append(_effect_of_counts(old, fresh, metric))
    return effects


def effect_of(
    base: CaseSamples, new: CaseSamples, ratio: Ratio, q: float, metric: Metric
) -> Effect:
    """The effect that a ratio makes by the metric's threshold."""
    if math.isnan(ratio.error) and repeats_exactly(metric):
        ratio = replace(ratio, reach=0.0)
    return Effect(base, new, metric, ratio, verdict_of(ratio, metric), q)


def verdict_of(ratio: Ratio, metric: Metric) -> EffectVerdict:
    """What a ratio says by the metric's threshold."""
    judgement = classify_interval(
        ratio.percent, ratio.low, ratio.high, metric.threshold_percent, "percent"
    )
    return _verdict(judgement.state, ratio.log, metric)


def describe_change(ratio: Ratio, verdict: EffectVerdict, metric: Metric) -> ValueChange:
    """A ratio with its interval in words, toned by its verdict."""
    return _toned(wording.effect(metric, ratio.percent, ratio.low, ratio.high, "percent"), verdict)


def repeats_exactly(metric: Metric) -> bool:
    """Memory and drift of one build are the same in every process, nearly: one value each can be
    compared.

    Not so the loss's drift, which is the difference of two nearly equal numbers
    (docs/detection.md).
    """
    return metric.unit in {"GB", "MB"} or metric.key.endswith(("drift", "drift_gradients"))


def _effect_of_counts(base: CaseSamples, new: CaseSamples, metric: Metric) -> Effect:
    """Counts, and values that logs cannot take: changed where the two sides' values do not
    overlap.
    """
    difference = new.mean - base.mean
    state = "unknown"
    if new.least > base.most or new.most < base.least:
        state = "changed"
    elif difference == 0:
        state = "unchanged"
    return Effect(base, new, metric, None, _verdict(state, difference, metric))


def _verdict(state: str, effect: float, metric: Metric) -> EffectVerdict:
    if state == "unchanged":
        return "same"
    if state == "unknown":
        return "unknown"
    return "better" if (effect < 0) == metric.lower_is_better else "worse"


def _toned(change: ValueChange | None, verdict: EffectVerdict) -> ValueChange:
    assert change is not None  # every effect has an amount
    percent = change.percent
    if verdict == "same" and percent is not None and abs(percent) < _LEAST_SHOWN_PERCENT:
        return ValueChange("unchanged", "none", percent)
    return replace(change, tone=_TONES.get(verdict, "none"))


def _q_values(ratios: Sequence[Ratio]) -> list[float]:
    """The q of each ratio: Benjamini-Hochberg over those that have repeats; NaN for the others."""
    p = np.array([ratio.p for ratio in ratios])
    has_repeats = [ratio.basis not in {"within", "none"} for ratio in ratios]
    is_tested = np.array(has_repeats, dtype=bool) & ~np.isnan(p)
    q = np.full(len(p), np.nan)
    if is_tested.any():
        q[is_tested] = false_discovery_control(p[is_tested])
    values: list[float] = q.tolist()
    return values
