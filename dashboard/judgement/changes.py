"""The two values that everything judged becomes: a `Change` of one metric of one case, and an
`Answer` of any set of changes.
"""

import math
from collections import Counter
from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from dashboard.language.metrics import Metric

Verdict = Literal["worse", "better", "same", "unclear"]
SetVerdict = Literal["worse", "better", "same", "unclear", "mixed"]
Grade = Literal["certain", "likely"]
# pairs: measured in turn on one device. trend: a level in a series, as the detector found it.
# none: the difference is shown, without a verdict
Basis = Literal["pairs", "trend", "none"]
DECIDED: frozenset[Verdict] = frozenset({"worse", "better"})

# Of the threshold, before a change that is not 0 counts as one; as in alerts
REACHES = 0.75


@dataclass(frozen=True, slots=True)
class Change:
    """Change of one metric of one case from A to B.

    effect: ln(B / A), or B − A where logs cannot be taken (`is_ratio`).
    low, high: the ends of its interval, in the same unit; infinite where none is known.
    pairs: of processes, that it is the mean of.
    grade: None unless the verdict is worse or better.
    """

    case: Hashable
    metric: Metric
    effect: float
    low: float = -math.inf
    high: float = math.inf
    pairs: int = 0
    verdict: Verdict = "unclear"
    grade: Grade | None = None
    basis: Basis = "pairs"
    is_ratio: bool = True

    @property
    def amount(self) -> float:
        """Percent, or the plain difference."""
        return self._amount(self.effect)

    @property
    def interval(self) -> tuple[float, float]:
        """In the unit of `amount`."""
        return self._amount(self.low), self._amount(self.high)

    @property
    def worst(self) -> float:
        """Most that it can be worse, in the unit of `amount`; infinite without an interval."""
        if not self.has_interval:
            return math.inf
        low, high = self.interval
        return high if self.metric.lower_is_better else -low

    @property
    def is_certain(self) -> bool:
        return self.grade == "certain"

    @property
    def has_interval(self) -> bool:
        return math.isfinite(self.high - self.low)

    def _amount(self, effect: float) -> float:
        if not self.is_ratio:
            return effect
        return 100 * math.expm1(effect) if effect < 500 else math.inf


@dataclass(frozen=True, slots=True)
class Answer:
    """Sum of a set of changes.

    counts: changes of each verdict.
    bound: how much worse, at most, anything is that did not get worse; infinite where that is not
        known, and 0 of none.
    """

    verdict: SetVerdict
    grade: Grade | None
    counts: dict[Verdict, int]
    bound: float


def answer(changes: Iterable[Change], others: Sequence[Verdict] = ()) -> Answer:
    """Sum up changes of one metric, or of several in the same unit.

    Mixed where some got worse and others better. Unclear where nothing got worse but something
    still can have; and of no changes.

    others: certain verdicts that no metric shows (a case fails now); they have no bound.
    """
    judged = list(changes)
    counts = Counter([*(change.verdict for change in judged), *others])
    verdict: SetVerdict = "unclear"
    if counts["worse"]:
        verdict = "mixed" if counts["better"] else "worse"
    elif counts and not counts["unclear"]:
        verdict = "better" if counts["better"] else "same"

    grades = {change.grade for change in judged if change.verdict in DECIDED}
    if not DECIDED.isdisjoint(others):
        grades.add("certain")
    grade: Grade | None = None
    if verdict in ("worse", "better", "mixed"):
        grade = "certain" if "certain" in grades else "likely"
    not_worse = [change.worst for change in judged if change.verdict != "worse"]
    return Answer(verdict, grade, dict(counts), max(not_worse, default=0.0))


def threshold_of(metric: Metric, level: float = math.inf) -> float:
    """The smallest change worth reporting, in logs.

    level: of the base, in the metric's own unit; where it is small, the metric's least change is
        more than the percentage.
    """
    return math.log1p(max(metric.threshold_percent / 100, metric.least / level))


def verdict_of(metric: Metric, effect: float, low: float, high: float, threshold: float) -> Verdict:
    """The verdict of an interval, were it the only one: off zero and of three quarters of the
    threshold it is a change; the same where it holds nothing worse than the threshold.
    """
    if (low > 0 or high < 0) and abs(effect) >= REACHES * threshold:
        return direction(metric, effect)
    worst = high if metric.lower_is_better else -low
    return "same" if worst <= threshold else "unclear"


def direction(metric: Metric, effect: float) -> Verdict:
    """The verdict of an effect that is one."""
    return "worse" if (effect > 0) == metric.lower_is_better else "better"
