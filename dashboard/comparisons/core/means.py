"""One metric over several matched cases: their mean, and what they say together. Pure."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from dashboard.comparisons.core.tables import ComparisonRow, Table
from dashboard.judgement.changes import DECIDED, Answer, Change, SetVerdict, answer
from dashboard.judgement.experiment import MEAN, mean_of
from dashboard.language import wording
from dashboard.language.metrics import EAGER, METRICS, Metric

CONTROL = "eager_latency_ms"
_LEAST_CASES = 4  # the median of fewer says no more than they
_NAMES = {
    "latency_ms": "compiled steps",
    CONTROL: "eager steps",
    "device_ms": "device time",
    "cold_start_s": "cold start",
    "peak_memory_gb": "peak memory",
    "drift": "drift",
}


@dataclass(frozen=True, slots=True)
class MetricMean:
    """One metric over several matched cases.

    changes: of these cases. mean: over them; where there is one case, that case.
    step_shares: of device times that do not count how much of their steps they are, percent.
    """

    key: str
    metric: Metric
    changes: Sequence[Change]
    mean: Change
    step_shares: Sequence[float] = ()

    @property
    def counts(self) -> bool:
        """True if it takes part in the verdict; eager decides nothing."""
        return not self.step_shares and self.key != CONTROL

    @property
    def matched(self) -> int:
        return len(self.changes)

    @property
    def averaged(self) -> int:
        """Number of cases that it is the mean of: those with pairs, where any has."""
        return sum(change.pairs > 0 for change in self.changes) or self.matched

    @property
    def name(self) -> str:
        return mean_name(self.key)

    @property
    def answer(self) -> Answer:
        """Answer of the cases."""
        return answer(self.changes)

    @property
    def verdict(self) -> SetVerdict:
        """The mean's own where it is decided, else that of the cases."""
        return self.mean.verdict if self.mean.verdict in DECIDED else self.answer.verdict

    @property
    def share_of_step(self) -> str:
        """Share of their steps that uncounted device times take, in words; else empty."""
        if not self.step_shares:
            return ""
        ends = dict.fromkeys(
            f"{share:.0f}" for share in (min(self.step_shares), max(self.step_shares))
        )
        return f"{' to '.join(ends)}% of the step"

    @property
    def median(self) -> str:
        """The change of the case in the middle, in words, because one case can make a mean; empty
        of few cases, and where nothing changed.
        """
        if self.matched < _LEAST_CASES or self.verdict == "same":
            return ""
        percent = 100 * math.expm1(statistics.median(change.effect for change in self.changes))
        change = wording.effect(self.metric, percent, None, None, "percent")
        assert change is not None  # it has an amount
        return change.text


def mean_name(key: str) -> str:
    """Name a metric that is averaged over several cases."""
    return _NAMES.get(key, METRICS[key].label.lower())


def means_of(
    tables: Mapping[str, Table], judged: Mapping[str, Change] | None = None
) -> list[MetricMean]:
    """Average the compiled cases in each metric that has ratios, and their eager control next to
    the latency, over rows that count, or over all where none does.

    judged: by metric, the means over all cases, which have verdicts.
    """
    means = []
    for key, table in tables.items():
        compiled = [row for row in table.rows if row.case.config != EAGER]
        rows = [row for row in compiled if row.counts] or compiled
        means.append(_mean(key, rows, (judged or {}).get(key)))
        if key == "latency_ms":
            means.append(_mean(CONTROL, _controls(table.rows)))
    return [mean for mean in means if mean is not None]


def _mean(
    key: str, rows: Sequence[ComparisonRow], judged: Change | None = None
) -> MetricMean | None:
    ratios = [row for row in rows if row.change.is_ratio]
    if not ratios:
        return None
    metric = METRICS[key]
    paired = [row.measured for row in ratios if row.measured.pairs]
    if len(ratios) == 1:
        mean = ratios[0].change
    elif judged and paired:
        mean = judged
    elif paired:
        mean = mean_of(metric, paired)
    else:
        effect = math.fsum(row.change.effect for row in ratios) / len(ratios)
        mean = Change(MEAN, metric, effect, basis="none")
    shares = [row.step_share for row in ratios if row.step_share is not None]
    return MetricMean(key, metric, [row.change for row in ratios], mean, shares)


def _controls(rows: Sequence[ComparisonRow]) -> list[ComparisonRow]:
    """Eager's change, once for each benchmark: of its own job, else of the control next to a
    compiled case.
    """
    controls: dict[str, ComparisonRow] = {}
    for row in sorted(rows, key=lambda row: row.case.config != EAGER):
        control = row if row.case.config == EAGER else row.eager
        if control is not None:
            controls.setdefault(row.case.benchmark, control)
    return list(controls.values())
