"""All cases of an experiment, judged at once: `judge`.

1. A value is a pair's ln(new / base); a session's mean where sessions contradict each other.
2. Each case is looked at after 3, 6, 12 and 20 pairs, with the variance that alike cases show.
3. One false discovery rate holds over all metrics and cases, and their means.
4. A value that repeats exactly, and a change beyond twice all that processes of one build ever
   differed by, need two pairs and no statistics.
"""

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dashboard.judgement import looks, sessions
from dashboard.judgement.changes import REACHES, Change, direction, threshold_of
from dashboard.judgement.looks import Look
from dashboard.judgement.moderation import Floats
from dashboard.judgement.pairs import Pair
from dashboard.language.metrics import COMPILE_CALLS, Metric

FEWEST_PAIRS = 2
"""Pairs that decide where values repeat, or a change is beyond all that is known of the case."""
BEYOND = 2.0
"""Times what processes of one build ever differed by."""
LARGE = 15.0
"""Thresholds that such a change has at least: processes may have a mode that nobody saw yet."""
CERTAIN_SESSIONS = 3
MEAN = "mean"
"""The case of a mean over all cases of a metric."""
_REPEATED = 1e-3  # of a value: two processes' that differ by less are the same
_REPEATED_CALLS = 2e-3  # two of one case and release were at most 0.12% apart: docs/results.md


@dataclass(frozen=True, slots=True)
class Measured:
    """One metric of one case, as it was measured.

    pairs: in the order of measuring.
    alike: cases of one kind scatter alike (those that keep the GPU busy).
    widest: by how much processes of one build ever differed, in logs (pairs.widest_difference).
    is_averaged: it has a part in the mean over the cases of its metric.
    """

    case: Hashable
    metric: Metric
    pairs: Sequence[Pair]
    alike: Hashable = None
    widest: float = math.inf
    is_averaged: bool = True

    @property
    def is_ratio(self) -> bool:
        is_count = self.metric.aggregate in ("sum", "share")
        return not is_count and all(min(pair.base, pair.new) > 0 for pair in self.pairs)

    @property
    def values(self) -> list[float]:
        if self.is_ratio:
            return [math.log(pair.new / pair.base) for pair in self.pairs]
        return [pair.new - pair.base for pair in self.pairs]

    @property
    def threshold(self) -> float:
        """In the unit of `values`."""
        if not self.is_ratio:
            return self.metric.least
        levels = [pair.base for pair in self.pairs]
        return threshold_of(self.metric, sum(levels) / len(levels) if levels else math.inf)

    @property
    def by_session(self) -> dict[str, list[float]]:
        by_session: dict[str, list[float]] = {}
        for pair, value in zip(self.pairs, self.values, strict=True):
            by_session.setdefault(pair.session, []).append(value)
        return by_session


@dataclass(frozen=True, slots=True)
class Judged:
    """changes: in the order of the cases. means: over the cases of each metric that has several.

    contradicting: metrics whose sessions contradict each other, so that they are the values.
    """

    changes: list[Change]
    means: dict[str, Change]
    contradicting: set[str]


def judge(cases: Sequence[Measured]) -> Judged:
    """Judge all that an experiment measured; cases that are still to be measured as well, so that
    measuring them raises nobody's false discovery rate.
    """
    by_metric: dict[str, list[Measured]] = {}
    for case in cases:
        by_metric.setdefault(case.metric.key, []).append(case)

    contradicting = set()
    means = {}
    for key, several in by_metric.items():
        if sessions.contradict([case.by_session for case in several if not _repeated(case)]):
            contradicting.add(key)
        averaged = [case for case in several if case.pairs and case.is_averaged and case.is_ratio]
        sessions_of_cases = [case.by_session for case in averaged]
        if len(sessions_of_cases) > 1:
            means[key] = sessions.mean_looks(sessions_of_cases)

    by_case = _looks_at(cases, contradicting)
    tested = zip(cases, by_case, strict=True)
    p = [_best_p(its_looks) for case, its_looks in tested if not _repeated(case)]
    p += [_best_p(mean_looks) for _, mean_looks in means.values()]
    limit = looks.discovery_limit(p)

    changes = []
    for case, its_looks in zip(cases, by_case, strict=True):
        is_by_session = case.metric.key in contradicting
        change = _changed(case, its_looks, limit, is_by_session=is_by_session)
        changes.append(_repeated(case) or change)
    of_means = {}
    for key, (mean, its_looks) in means.items():
        of_means[key] = _mean_change(by_metric[key][0].metric, mean, its_looks, limit)
    return Judged(changes, of_means, contradicting)


def _looks_at(cases: Sequence[Measured], contradicting: set[str]) -> list[list[Look]]:
    """The looks of each case, with the variance that those of the same metric and kind show."""
    alike: dict[tuple[str, Hashable], list[int]] = {}
    for at, case in enumerate(cases):
        alike.setdefault((case.metric.key, case.alike), []).append(at)
    by_case: list[list[Look]] = [[] for _ in cases]
    for (key, _), places in alike.items():
        values = np.full((len(places), looks.LOOKS[-1]), np.nan)  # (cases, pairs)
        for row, at in enumerate(places):
            kept = _values(cases[at], by_session=key in contradicting)[: looks.LOOKS[-1]]
            values[row, : len(kept)] = kept
        looks_of_cases = looks.looks_at(values)
        for at, its_looks in zip(places, looks_of_cases, strict=True):
            by_case[at] = its_looks
    return by_case


def _values(case: Measured, *, by_session: bool) -> Floats:
    if not by_session:
        return np.array(case.values)
    return np.array([np.mean(values) for values in case.by_session.values()])


def _best_p(its_looks: Sequence[Look]) -> float:
    return min((look.p for look in its_looks), default=1.0)


def _changed(case: Measured, its_looks: list[Look], limit: float, *, is_by_session: bool) -> Change:
    """The change of a case by its looks; without a verdict before the first."""
    pairs = len(case.pairs)
    if not its_looks:
        effect = float(np.mean(case.values)) if pairs else math.nan
        return Change(case.case, case.metric, effect, pairs=pairs, is_ratio=case.is_ratio)
    effect, low, high = looks.interval_of(its_looks)
    if not is_by_session:
        pairs = its_looks[-1].pairs
    change = Change(case.case, case.metric, effect, low, high, pairs, is_ratio=case.is_ratio)
    return _decided(change, its_looks, limit, case.threshold, looks.CERTAIN_PAIRS)


def mean_of(metric: Metric, cases: Sequence[Measured]) -> Change:
    """The mean over some of the cases, without a verdict: what was judged together has one."""
    mean, its_looks = sessions.mean_looks([case.by_session for case in cases])
    return replace(_mean_change(metric, mean, its_looks, 0.0), verdict="unclear")


def _mean_change(metric: Metric, mean: float, its_looks: list[Look], limit: float) -> Change:
    """A mean over cases, which counts from half of a case's threshold on."""
    if not its_looks:
        return Change(MEAN, metric, mean)
    effect, low, high = looks.interval_of(its_looks)
    change = Change(MEAN, metric, effect, low, high)
    return _decided(change, its_looks, limit, threshold_of(metric) / 2, CERTAIN_SESSIONS)


def _decided(
    change: Change, its_looks: list[Look], limit: float, threshold: float, certain_from: int
) -> Change:
    """The change with its verdict: of the newest look that decided, else the same where the
    interval holds nothing worse than the threshold.
    """
    deciding = []
    for look in its_looks:
        if look.p <= limit and abs(look.mean) >= REACHES * threshold:
            deciding.append(look)
    if deciding:
        verdict = direction(change.metric, deciding[-1].mean)
        is_certain = deciding[-1].pairs >= certain_from
        return replace(change, verdict=verdict, grade="certain" if is_certain else "likely")
    worst = change.high if change.metric.lower_is_better else -change.low
    return replace(change, verdict="same" if worst <= threshold else "unclear")


def _repeated(case: Measured) -> Change | None:
    """The change where two pairs suffice: each process repeats its build's value, or every pair
    is beyond what processes of one build ever differed by; else None.
    """
    if len(case.pairs) < FEWEST_PAIRS:
        return None
    values = case.values
    low, high = min(values), max(values)
    effect = sum(values) / len(values)
    change = Change(
        case.case, case.metric, effect, low, high, len(case.pairs), is_ratio=case.is_ratio
    )
    least = min(abs(low), abs(high))
    is_beyond = least > max(BEYOND * case.widest, LARGE * case.threshold) and low * high > 0
    if not is_beyond and not _repeats_exactly(case):
        return None
    if effect and abs(effect) >= REACHES * case.threshold:
        return replace(change, verdict=direction(case.metric, effect), grade="certain")
    return replace(change, verdict="same")


def _repeats_exactly(case: Measured) -> bool:
    share = repeats_within(case.metric)
    if share is None:
        return False
    for values in zip(*((pair.base, pair.new) for pair in case.pairs), strict=True):
        if max(values) - min(values) > share * abs(max(values)):
            return False
    return True


def repeats_within(metric: Metric) -> float | None:
    """The share of a value by which the processes of one build differ where it repeats; None where
    it does not. The loss's drift does not: it is the difference of two nearly equal numbers.
    """
    if metric.key == COMPILE_CALLS:
        return _REPEATED_CALLS
    if metric.aggregate == "sum":
        return 0.0
    is_exact = metric.unit in {"GB", "MB"} or metric.key.endswith(("drift", "drift_gradients"))
    return _REPEATED if is_exact else None
