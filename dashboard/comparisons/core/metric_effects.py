"""What one metric of one case does between two sides: how much, how sure, better or worse. Pure."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal, NamedTuple

import numpy as np
from scipy.stats import false_discovery_control

from dashboard.comparisons.core.ratios import Level, Ratio, merged, ratios
from dashboard.detection.level_comparison import classify_interval
from dashboard.language import wording
from dashboard.language.metrics import Metric
from dashboard.language.wording import Tone, ValueChange

Verdict = Literal["better", "worse", "same", "unknown"]
Libraries = tuple[tuple[str, str], ...]  # (("transformers", "5.17.0"), ...)

CHANGED = ("better", "worse")
SIGNIFICANT = 0.05  # the false discovery rate over the cases of one table
_TONES: dict[Verdict, Tone] = {"better": "good", "worse": "bad"}


class CaseSamples(NamedTuple):
    """One metric under one benchmark version and library set: n values, one from each process.

    level: None where a value is not positive, which logs cannot take. least, most, mean: of the
        plain values.
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
    """How one metric of one case differs. ratio: None where only the plain difference can be told.

    q: the smallest false discovery rate at which it is among the changed ones (Benjamini and
        Hochberg 1995); NaN
    without repeats. change: in words, toned by the verdict.
    """

    base: CaseSamples
    new: CaseSamples
    metric: Metric
    ratio: Ratio | None
    verdict: Verdict
    q: float = math.nan

    @property
    def change(self) -> ValueChange:
        if self.ratio:
            return in_words(self.ratio, self.verdict, self.metric)
        return _toned(
            wording.effect(self.metric, self.difference, None, None, "difference"), self.verdict
        )

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
        """On which devices both sides ran, in words; empty where it was one, which says all."""
        if self.ratio is None or not (self.base.level and self.new.level):
            return ""
        base, new = (
            {block.device for block in side.blocks} for side in (self.base.level, self.new.level)
        )
        if len(base | new) < 2:
            return ""
        if base == new:
            return f"on the same {len(base)} devices"
        return (
            f"{len(base & new)} of {len(base | new)} devices shared"
            if base & new
            else "on different devices"
        )

    @property
    def difference(self) -> float:
        return self.new.mean - self.base.mean

    @property
    def is_significant(self) -> bool:
        return self.q <= SIGNIFICANT and self.verdict in CHANGED

    @property
    def is_within(self) -> bool:
        """Whether its interval leaves out how much one process differs from the next."""
        return self.ratio is not None and self.ratio.basis in {"within", "none"}

    @property
    def size(self) -> float:
        """By which tables are sorted."""
        return abs(self.ratio.log if self.ratio else self.difference)


def pooled(parts: Sequence[CaseSamples]) -> CaseSamples:
    """One part of several of one benchmark version."""
    if len(parts) == 1:
        return parts[0]
    n = sum(part.n for part in parts)
    levels = [part.level for part in parts if part.level]
    return CaseSamples(
        version=parts[0].version,
        libraries=parts[0].libraries,
        level=merged(levels) if len(levels) == len(parts) else None,
        n=n,
        least=min(part.least for part in parts),
        most=max(part.most for part in parts),
        mean=math.fsum(part.mean * part.n for part in parts) / n,
        job=parts[-1].job,
    )


def judge_all(
    pairs: Sequence[tuple[CaseSamples, CaseSamples]],
    metric: Metric,
    kinds: Sequence[Hashable] | None = None,
    devices: float | None = None,
) -> list[Effect]:
    """The effects of one metric, in the order of `pairs`; together, because many cases tell how
    much processes differ (of one of `kinds` more than of another) and devices (unless `devices`
    does: blocks.py), and how many changes chance alone would show.
    """
    plain = wording.is_count(metric) or metric.aggregate == "share"
    levels = [
        None if plain or not (old.level and new.level) else (old.level, new.level)
        for old, new in pairs
    ]
    known = [both for both in levels if both]
    alike = [kind for kind, both in zip(kinds, levels, strict=True) if both] if kinds else ()
    found = ratios([old for old, _ in known], [new for _, new in known], alike, devices)
    judgements = iter(zip(found, _qs(found), strict=True))
    return [
        judged(old, new, *next(judgements), metric) if both else _counted(old, new, metric)
        for (old, new), both in zip(pairs, levels, strict=True)
    ]


def judged(old: CaseSamples, new: CaseSamples, ratio: Ratio, q: float, metric: Metric) -> Effect:
    """The effect that a ratio makes by the metric's threshold."""
    if math.isnan(ratio.error) and repeats_exactly(metric):
        ratio = replace(ratio, reach=0.0)
    return Effect(old, new, metric, ratio, verdict_of(ratio, metric), q)


def verdict_of(ratio: Ratio, metric: Metric) -> Verdict:
    """What a ratio says by the metric's threshold."""
    judgement = classify_interval(
        ratio.percent, ratio.low, ratio.high, metric.threshold_percent, "percent"
    )
    return _verdict(judgement.state, ratio.log, metric)


def in_words(ratio: Ratio, verdict: Verdict, metric: Metric) -> ValueChange:
    """A ratio with its interval, toned by its verdict."""
    return _toned(wording.effect(metric, ratio.percent, ratio.low, ratio.high, "percent"), verdict)


def repeats_exactly(metric: Metric) -> bool:
    """Memory and drift of one build are the same in every process, nearly: one value each can be
    compared.

    Not so the loss's drift, which is the difference of two nearly equal numbers
    (docs/detection.md).
    """
    return metric.unit in {"GB", "MB"} or metric.key.endswith(("drift", "drift_gradients"))


def _counted(old: CaseSamples, new: CaseSamples, metric: Metric) -> Effect:
    """Counts, and values that logs cannot take: changed where the two sides' values do not
    overlap.
    """
    difference = new.mean - old.mean
    apart = new.least > old.most or new.most < old.least
    state = "changed" if apart else "unchanged" if difference == 0 else "unknown"
    return Effect(old, new, metric, None, _verdict(state, difference, metric))


def _verdict(state: str, effect: float, metric: Metric) -> Verdict:
    if state == "unchanged":
        return "same"
    if state == "unknown":
        return "unknown"
    return "better" if (effect < 0) == metric.lower_is_better else "worse"


def _toned(change: ValueChange | None, verdict: Verdict) -> ValueChange:
    assert change is not None  # every effect has an amount
    if verdict == "same" and change.percent is not None and abs(change.percent) < 0.05:
        return ValueChange("unchanged", "none", change.percent)
    return replace(change, tone=_TONES.get(verdict, "none"))


def _qs(found: Sequence[Ratio]) -> list[float]:
    """The q of each ratio: Benjamini-Hochberg over those that have repeats; NaN for the others."""
    p = np.array([math.nan if ratio.basis in {"within", "none"} else ratio.p for ratio in found])
    tested = ~np.isnan(p)
    q = np.full(len(p), np.nan)
    if tested.any():
        q[tested] = false_discovery_control(p[tested])
    return [float(value) for value in q]
