"""The geometric mean of one metric over several matched cases. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from dashboard.comparisons.core.matching import ComparisonRow, Table
from dashboard.comparisons.core.metric_effects import (
    CERTAIN_PROCESSES,
    CHANGED,
    FALSE_DISCOVERY_RATE,
    Effect,
    EffectVerdict,
    describe_change,
    interval_verdict,
)
from dashboard.comparisons.core.ratios import Ratio, averaged, geomean
from dashboard.language import wording
from dashboard.language.metrics import EAGER, METRICS, Metric
from dashboard.language.wording import ValueChange, span

_CONTROL = "eager_latency_ms"
_LEAST_CASES = 4  # the median of fewer says no more than they
_NAMES = {
    "latency_ms": "compiled steps",
    _CONTROL: "eager steps",
    "device_ms": "device time",
    "cold_start_s": "cold start",
    "peak_memory_gb": "peak memory",
    "drift": "drift",
}


@dataclass(frozen=True, slots=True)
class MetricMean:
    """One metric over several matched cases.

    effects: of these cases. ratio: their geomean.
    q: among everything that was judged with it; NaN where it was not judged. A mean that was not
        is shown, and called nothing.
    step_shares: of device times that do not count how much of their steps they are, percent.
    """

    key: str
    metric: Metric
    effects: Sequence[Effect]
    ratio: Ratio
    q: float = math.nan
    step_shares: Sequence[float] = ()

    @property
    def counts(self) -> bool:
        """Whether it has a part in the verdict."""
        return not self.step_shares

    @property
    def matched(self) -> int:
        return len(self.effects)

    @property
    def averaged(self) -> int:
        """Of how many of the cases it is the mean."""
        return len(averaged([effect.ratio for effect in self.effects if effect.ratio]))

    @property
    def name(self) -> str:
        return mean_name(self.key)

    @property
    def p(self) -> float:
        """NaN where it is not judged: of one case it is that case, eager decides nothing, and what
        does not count neither.
        """
        is_judged = self.matched > 1 and self.key != _CONTROL and self.counts
        return self.ratio.p if is_judged else math.nan

    @property
    def verdict(self) -> EffectVerdict:
        """A mean of several counts as changed from half of a case's threshold on, and from so many
        processes on that their modes (CERTAIN_PROCESSES) average out; and where each case did.
        Eager's never does.
        """
        of_each = {effect.verdict for effect in self.effects}
        agree = self.matched == 1 or (len(of_each) == 1 and of_each <= {*CHANGED})
        if agree and self.key != _CONTROL:
            return self.effects[0].verdict
        half = replace(self.metric, threshold_percent=self.metric.threshold_percent / 2)
        verdict = interval_verdict(self.ratio, half)
        if verdict not in CHANGED:
            return verdict
        processes = sum(effect.processes for effect in self.effects)
        is_certain = self.q <= FALSE_DISCOVERY_RATE and processes >= 2 * CERTAIN_PROCESSES
        return verdict if is_certain else "unknown"

    @property
    def share_of_step(self) -> str:
        """How much of their steps device times are that do not count, in words; else empty."""
        if self.counts:
            return ""
        ends = dict.fromkeys(
            f"{share:.0f}" for share in (min(self.step_shares), max(self.step_shares))
        )
        return f"{' to '.join(ends)}% of the step"

    @property
    def change(self) -> ValueChange:
        return describe_change(self.ratio, self.verdict, self.metric)

    @property
    def median(self) -> str:
        """The change of the case in the middle, in words, because one case can make a mean; empty
        of few cases, and where nothing changed.
        """
        ratios = averaged([effect.ratio for effect in self.effects if effect.ratio])
        if len(ratios) < _LEAST_CASES or self.verdict == "same":
            return ""
        percent = 100 * math.expm1(statistics.median(ratio.log for ratio in ratios))
        change = wording.effect(self.metric, percent, None, None, "percent")
        assert change is not None  # it has an amount
        return change.text

    @property
    def range(self) -> str:
        """Its name, and the interval in words where one is known: "cold start (2.0% faster to 4.1
        % slower)".
        """
        if not self.ratio.is_known:
            return self.name
        return f"{self.name} ({span(self.metric, self.ratio.low, self.ratio.high)})"


def mean_name(key: str) -> str:
    """What a metric is called where several cases' are averaged."""
    return _NAMES.get(key, METRICS[key].label.lower())


def means_of(tables: Mapping[str, Table]) -> list[MetricMean]:
    """Of the compiled cases in each metric that has ratios, and of their eager control next to the
    latency. Of rows that count, or of all where none does.
    """
    means = []
    for key, table in tables.items():
        compiled = [row for row in table.rows if row.case.config != EAGER]
        rows = [row for row in compiled if row.counts] or compiled
        shares = [row.step_share for row in rows if row.step_share is not None]
        means.append(_mean(key, [row.effect for row in rows], shares))
        if key == "latency_ms":
            means.append(_mean(_CONTROL, _controls(table.rows)))
    return [mean for mean in means if mean is not None]


def _mean(key: str, effects: Sequence[Effect], shares: Sequence[float] = ()) -> MetricMean | None:
    ratio = geomean([effect.ratio for effect in effects if effect.ratio])
    if ratio is None:
        return None
    return MetricMean(key, METRICS[key], effects, ratio, step_shares=shares)


def _controls(rows: Sequence[ComparisonRow]) -> list[Effect]:
    """Eager's change, once for each benchmark: of its own job, else of the control next to a
    compiled case.
    """
    controls: dict[str, Effect] = {}
    for row in sorted(rows, key=lambda row: row.case.config != EAGER):
        effect = row.effect if row.case.config == EAGER else row.eager
        if effect is not None:
            controls.setdefault(row.case.benchmark, effect)
    return list(controls.values())
