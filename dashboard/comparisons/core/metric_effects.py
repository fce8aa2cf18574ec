"""What one metric of one case does between two sides: how much, how sure, better or worse. Pure."""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
import scipy  # its parts are loaded where they are used: processes that never do stay small

from dashboard.comparisons.core.case_samples import CaseSamples
from dashboard.comparisons.core.ratios import MIN_PROCESSES, Ratio, estimate_ratios
from dashboard.detection.level_comparison import classify_interval
from dashboard.language import wording
from dashboard.language.metrics import COMPILE_CALLS, Metric
from dashboard.language.wording import Tone, ValueChange

EffectVerdict = Literal["better", "worse", "same", "unknown"]

CHANGED = ("better", "worse")
FALSE_DISCOVERY_RATE = 0.05  # over all that is judged together
# Of each side, before a change is called certain. Processes may run in one of two modes, and three
# a side fall apart by chance on many a page of 60 cases (tests/perf/verdicts.py)
CERTAIN_PROCESSES = 6
_TONES: dict[EffectVerdict, Tone] = {"better": "good", "worse": "bad"}
_TOO_FEW = "one process on a side"
_TOO_FEW_IN_TURN = f"{_TOO_FEW}, of those measured in turn"
_APART = "not measured in turn on one device"
_DISAGREES = "the change differs from session to session"
_SCATTERS = "the processes of one build differ by too much"
_REPEATED = 1e-3  # of a value: two processes' that differ by less are the same
_REPEATED_CALLS = 2e-3  # two of one case and release were at most 0.12% apart: docs/results.md
# Inductor may choose other block sizes in every process: device times of one build were at most
# 9.8% apart, in 102 cases and releases (docs/versions.md)
_OF_DEVICE = {"device_ms", "device_speedup"}
_BEYOND_TUNING_PERCENT = 15.0
_OF_HOST = {"overhead_us", "host_ms"}  # besides steps
_PART_OF_CHANGE = 1 / 20  # by which device times of a larger change may be apart: 0.75% of 15%
LEAST_SHOWN_PERCENT = 0.05  # less is shown as unchanged


@dataclass(frozen=True, slots=True)
class Effect:
    """How one metric of one case differs.

    ratio: None where only the plain difference is known.
    q: the smallest false discovery rate at which it is among the changed ones (Benjamini and
        Hochberg 1995); NaN without an interval.
    suspected: what it would be called if each side had CERTAIN_PROCESSES; until then its verdict is
        unknown.
    is_gpu_busy: whether the case is known to keep the GPU busy; of step metrics alone.
    change: in words, toned by the verdict.
    """

    base: CaseSamples
    new: CaseSamples
    metric: Metric
    ratio: Ratio | None
    verdict: EffectVerdict
    q: float = math.nan
    suspected: EffectVerdict | None = None
    is_gpu_busy: bool = False

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
    def beside_levels(self) -> str:
        """What to say where the levels, which are of all processes, differ the other way than those
        measured in turn; that the amounts differ is said once, above the table.
        """
        if self.ratio is None:
            return ""
        base, new = self.levels
        of_levels = 100 * (new / base - 1)
        shown = min(abs(of_levels), abs(self.ratio.percent)) >= LEAST_SHOWN_PERCENT
        is_opposite = shown and (of_levels > 0) != (self.ratio.percent > 0)
        return "over all processes it is the other way" if is_opposite else ""

    @property
    def sessions(self) -> str:
        """What the sessions of a significant change show at most, where one shows the opposite of
        another by the metric's threshold: "33% faster to 24% slower by session".
        """
        if not (self.is_significant and self.ratio and self.ratio.blocks):
            return ""
        least, most = (100 * math.expm1(log) for log in self.ratio.blocks)
        threshold = self.metric.threshold_percent
        is_opposite = least <= -threshold and most >= threshold
        return f"{wording.span(self.metric, least, most)} by session" if is_opposite else ""

    @property
    def devices(self) -> str:
        """On which devices both sides ran, in words; empty where there was only one."""
        if self.ratio is None or not (self.base.level and self.new.level):
            return ""
        base = {group.block.device for group in self.base.level.groups}
        new = {group.block.device for group in self.new.level.groups}
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
        return self.verdict in CHANGED

    @property
    def is_changed(self) -> bool:
        """Significantly, or as far as fewer processes can say."""
        return self.is_significant or self.suspected in CHANGED

    @property
    def processes(self) -> int:
        """Of the side that has fewer; of a ratio, in blocks that both share."""
        return self.ratio.processes if self.ratio else min(self.base.n, self.new.n)

    @property
    def lacks(self) -> str:
        """Why it has no interval and no verdict, in words; empty where it has one."""
        too_few = min(self.base.n, self.new.n) < MIN_PROCESSES
        if self.ratio is None:
            return _TOO_FEW if too_few else ""
        if self.ratio.basis == "repeats":
            return "" if self.ratio.is_known else _SCATTERS
        if self.ratio.basis != "single":
            return _APART if self.ratio.basis == "apart" else _DISAGREES
        return _TOO_FEW if too_few else _TOO_FEW_IN_TURN

    @property
    def size(self) -> float:
        """By which tables are sorted."""
        return abs(self.ratio.log if self.ratio else self.difference)


def estimate_effects(
    pairs: Sequence[tuple[CaseSamples, CaseSamples]],
    metric: Metric,
    kinds: Sequence[Hashable] | None = None,
) -> list[Effect]:
    """The effects of one metric, in the order of `pairs`, judged by themselves (`judge`).

    They are estimated together, because many cases show how much processes differ (those of one of
    `kinds` more than those of another).

    kinds: of steps whether the case keeps the GPU busy, None where that is not known; of other
        metrics None.
    """
    is_plain = wording.is_count(metric) or metric.aggregate == "share"
    places, base, new = [], [], []  # of the pairs that make a ratio
    for place, (old, fresh) in enumerate(pairs):
        if old.level and fresh.level and not is_plain:
            places.append(place)
            base.append(old.level)
            new.append(fresh.level)
    alike = [kinds[place] for place in places] if kinds else ()
    # Processes repeat memory: where sessions do not repeat its change, more than the build changed
    most_apart = math.log1p(metric.threshold_percent / 100) if metric.unit == "GB" else math.inf
    is_busy = [kind is True for kind in kinds] if kinds else [False] * len(pairs)
    # A host may serve the steps of a build otherwise in one session than in the next
    is_of_host = kinds is not None or metric.key in _OF_HOST
    by_block = [is_of_host and not is_busy[place] for place in places]
    estimated = estimate_ratios(base, new, alike, most_apart, by_block)
    ratios = dict(zip(places, estimated, strict=True))
    effects = []
    for place, (old, fresh) in enumerate(pairs):
        ratio = ratios.get(place)
        effects.append(Effect(old, fresh, metric, ratio, "unknown", is_gpu_busy=is_busy[place]))
    return judge(effects)[0]


def judge(
    effects: Sequence[Effect], others: Sequence[float] = ()
) -> tuple[list[Effect], list[float]]:
    """The effects with their q and verdict, by one false discovery rate over all of them, of
    whichever metrics; and the q of `others`, p values that are judged with them.
    """
    p = [effect.ratio.p if effect.ratio else math.nan for effect in effects]
    q_values = false_discovery_rates([*p, *others])
    judged = [_judged(effect, q) for effect, q in zip(effects, q_values, strict=False)]
    return judged, q_values[len(effects) :]


def false_discovery_rates(p: Sequence[float]) -> list[float]:
    """The q of each p by Benjamini and Hochberg (1995); NaN where p is."""
    probabilities = np.array(p)
    is_tested = ~np.isnan(probabilities)
    q = np.full(len(probabilities), np.nan)
    if is_tested.any():
        q[is_tested] = scipy.stats.false_discovery_control(probabilities[is_tested])
    values: list[float] = q.tolist()
    return values


def _judged(effect: Effect, q: float) -> Effect:
    """1. By its interval and the metric's threshold. 2. A change is one only within the false
    discovery rate. 3. Of few processes it is suspected.
    """
    if effect.ratio is None:
        return replace(effect, verdict=_verdict_of_counts(effect))
    verdict = interval_verdict(effect.ratio, effect.metric)
    if verdict not in CHANGED:
        return replace(effect, q=q, verdict=verdict)
    if q > FALSE_DISCOVERY_RATE:
        return replace(effect, q=q, verdict="unknown")
    is_measured = effect.processes >= CERTAIN_PROCESSES and not _may_be_tuning(effect)
    if is_measured or _repeats(effect):
        return replace(effect, q=q, verdict=verdict)
    return replace(effect, q=q, verdict="unknown", suspected=verdict)


def interval_verdict(ratio: Ratio, metric: Metric) -> EffectVerdict:
    """What a ratio says by the metric's threshold, were it the only one."""
    judgement = classify_interval(
        ratio.percent, ratio.low, ratio.high, metric.threshold_percent, "percent"
    )
    return _verdict(judgement.state, ratio.log, metric)


def _repeats(effect: Effect) -> bool:
    """Whether processes of one build repeat the value, and all of these did; of a device time,
    whether the change is also larger than what tuning does from process to process.
    """
    sides = effect.base, effect.new
    if effect.metric.key == "device_ms":
        if effect.ratio is None or abs(effect.ratio.percent) < _BEYOND_TUNING_PERCENT:
            return False
        apart = _PART_OF_CHANGE * abs(effect.ratio.log)
        return all(_widest_range(side) <= apart for side in sides)
    apart = repeats_within(effect.metric)
    return apart > 0 and all(side.most - side.least <= apart * side.most for side in sides)


def _widest_range(side: CaseSamples) -> float:
    """By how much the processes of one block are apart, at most, in logs: devices may differ.

    Exact for two; of more it is the bound that the sum of squares gives. Where all processes of
    the side are closer than that, as far as those. Infinite for a single one.
    """
    if side.n < 2:
        return math.inf
    groups = side.level.groups if side.level else ()
    ranges = [math.sqrt(2 * group.m2) for group in groups if group.n > 1]
    return min(max(ranges, default=math.inf), math.log(side.most / side.least))


def _may_be_tuning(effect: Effect) -> bool:
    """Whether it is a device time, or a step that waits for the GPU, or made of either, and
    processes of both sides took the same: then Inductor's choices, which are few, explain it as
    well. They have no part in eager's steps.
    """
    key = effect.metric.key
    if key not in _OF_DEVICE and (not effect.is_gpu_busy or key == "eager_latency_ms"):
        return False
    base, new = effect.base, effect.new
    return base.least <= new.most and new.least <= base.most


def describe_change(ratio: Ratio, verdict: EffectVerdict, metric: Metric) -> ValueChange:
    """A ratio with its interval in words, toned by its verdict."""
    if verdict == "same" and max(abs(ratio.low), abs(ratio.high)) < LEAST_SHOWN_PERCENT:
        return ValueChange("unchanged", "none", ratio.percent)
    return _toned(wording.effect(metric, ratio.percent, ratio.low, ratio.high, "percent"), verdict)


def repeats_within(metric: Metric) -> float:
    """The share of a value by which the processes of one build may differ and still be the same.

    Memory, drift and compile calls are nearly the same in every process, so that one value each
    can be compared. 0: not so. The loss's drift is the difference of two nearly equal numbers
    (docs/detection.md).
    """
    if metric.key == COMPILE_CALLS:
        return _REPEATED_CALLS
    is_exact = metric.unit in {"GB", "MB"} or metric.key.endswith(("drift", "drift_gradients"))
    return _REPEATED if is_exact else 0.0


def _verdict_of_counts(effect: Effect) -> EffectVerdict:
    """Counts, and values that logs cannot take: known where each side repeats its value in two
    processes.
    """
    if effect.processes < MIN_PROCESSES:
        return "unknown"
    if any(side.least < side.most for side in (effect.base, effect.new)):
        return "unknown"
    state = "changed" if effect.difference else "unchanged"
    return _verdict(state, effect.difference, effect.metric)


def _verdict(state: str, effect: float, metric: Metric) -> EffectVerdict:
    if state == "unchanged":
        return "same"
    if state == "unknown":
        return "unknown"
    return "better" if (effect < 0) == metric.lower_is_better else "worse"


def _toned(change: ValueChange | None, verdict: EffectVerdict) -> ValueChange:
    assert change is not None  # every effect has an amount
    return replace(change, tone=_TONES.get(verdict, "none"))
