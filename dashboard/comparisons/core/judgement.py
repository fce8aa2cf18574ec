"""What is known of a change between two sides, in all cases and metrics at once. Pure.

Headline, tables, gate, files and API all read one `Judgement`, so that no two of them can say
different things. It has three states:

    regression: something got worse, significantly, or fails now and passed before
    passed: nothing did, and nothing can have by more than BOUND times its metric's threshold; a
        step that scatters while it waits for the GPU goes by the GPU's own time
    unknown: anything else
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal, TypeVar

from dashboard.comparisons.core.eager_memory import EAGER_MEMORY, eager_changed_as_much
from dashboard.comparisons.core.failures import Failure, newly_failing
from dashboard.comparisons.core.matching import (
    BUSY_GPU_PERCENT,
    ComparedCase,
    ComparisonRow,
    ExcludedCase,
    Key,
    Side,
    Table,
    compare,
    compare_latency,
    pooled,
)
from dashboard.comparisons.core.means import MetricMean, means_of
from dashboard.comparisons.core.metric_effects import Effect, EffectVerdict, judge
from dashboard.language.metrics import EAGER, METRICS, Metric, is_grain

TableKey = TypeVar("TableKey")  # a metric's key, or the id of a build
State = Literal["passed", "regression", "unknown"]
FindingKind = Literal[
    "regression", "suspected", "open", "scatters", "bounded", "improvement", "unchanged"
]

# What people are notified of, too: steps, start, memory, exactness and graphs
JUDGED_METRICS = (
    "latency_ms",
    "device_ms",
    "cold_start_s",
    "peak_memory_gb",
    "drift",
    "graph_breaks",
)
STEP_TIMES = {"latency_ms", "device_ms"}  # of the whole step, and of the GPU in it
DEVICE_SHARE = "device_share_percent"
# Of each side, whatever is judged: they show which part of a step changed, and what it waits for
PART_METRICS = ("latency_ms", "eager_latency_ms", "speedup", DEVICE_SHARE, EAGER_MEMORY)
# Thresholds. An interval of a case narrows to its threshold after many processes; that it holds
# nothing as bad as this is enough to let a change in
BOUND = 2.5
_DECIDED: dict[EffectVerdict, FindingKind] = {
    "worse": "regression",
    "better": "improvement",
    "same": "unchanged",
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric of one case.

    device_decides: it is a step's latency, the step waits for the GPU, and what the GPU's own time
        does is decided.
    is_of_eager: it is a peak of memory, and eager's changed by as many bytes.
    """

    metric: Metric
    row: ComparisonRow
    device_decides: bool = False
    is_of_eager: bool = False

    @property
    def effect(self) -> Effect:
        return self.row.effect

    @property
    def is_step(self) -> bool:
        """Whether it is of the time that a step takes."""
        return self.metric.key in STEP_TIMES

    @property
    def kind(self) -> FindingKind:
        """open: it may have got worse by more than the bound. scatters: it is open or suspected,
        and the GPU's own time is not.
        """
        decided = _DECIDED.get(self.effect.verdict)
        if decided is not None:
            return decided
        is_bounded = self.worst_percent <= self.bound_percent
        if self.device_decides and (self.effect.suspected or not is_bounded):
            return "scatters"
        if self.effect.suspected == "worse":
            return "suspected"
        return "bounded" if is_bounded else "open"

    @property
    def bound_percent(self) -> float:
        return BOUND * self.metric.threshold_percent

    @property
    def worst_percent(self) -> float:
        """How much worse it can be by its interval; infinite where it has none."""
        ratio = self.effect.ratio
        if ratio is None:
            return float("inf")
        return ratio.high if self.metric.lower_is_better else -ratio.low

    @property
    def best_percent(self) -> float:
        """How much better it can be by its interval; infinite where it has none."""
        ratio = self.effect.ratio
        if ratio is None:
            return float("inf")
        return -ratio.low if self.metric.lower_is_better else ratio.high


@dataclass(frozen=True, slots=True)
class Judgement:
    """tables: by metric, judged together. findings: of those of their rows that count. means: over
    all cases of a metric; of the device time over those that count, where there are any.

    breaks, repairs: cases that fail on the new side alone, or on the base side alone.
    undecided: cases that failed there in a way that one process does not prove.
    absent: cases that had to be compared and were not, with the reason.
    """

    tables: dict[str, Table]
    findings: list[Finding]
    means: list[MetricMean]
    breaks: list[Failure]
    repairs: list[Failure]
    undecided: list[Failure]
    absent: list[ExcludedCase]

    @property
    def state(self) -> State:
        kinds = {finding.kind for finding in self.findings}
        if self.breaks or "regression" in kinds or self.means_of("worse"):
            return "regression"
        is_open = "suspected" in kinds or "open" in kinds or self.undecided
        if is_open or any(out.lacks_data for out in self.absent):
            return "unknown"
        return "passed" if self.findings else "unknown"

    def of_kind(self, kind: FindingKind) -> list[Finding]:
        """The largest first."""
        findings = [finding for finding in self.findings if finding.kind == kind]
        return sorted(findings, key=lambda finding: -finding.effect.size)

    @property
    def certain(self) -> list[Finding]:
        """Changes for worse, then those for better, each the largest first."""
        return self.of_kind("regression") + self.of_kind("improvement")

    @property
    def suspected(self) -> list[Finding]:
        """Changes for better or worse, the largest first."""
        findings = []
        for finding in self.findings:
            if finding.effect.suspected and finding.kind != "scatters":
                findings.append(finding)
        return sorted(findings, key=lambda finding: -finding.effect.size)

    @property
    def gains(self) -> bool:
        """Whether something got better for certain, or passes now, that is not eager's as well."""
        better = {mean.key for mean in self.means_of("better")}
        better |= {finding.metric.key for finding in self.of_kind("improvement")}
        return bool(better - self.gained_by_eager or self.repairs)

    @property
    def gained_by_eager(self) -> set[str]:
        """Metrics in which all that got better did so in eager as well: memory, by as many bytes.

        33 MB are four fifths of a small model's peak, nothing to a large one, and not the
        compiler's.
        """
        gained = self.of_kind("improvement")
        own = {finding.metric.key for finding in gained if not finding.is_of_eager}
        return {finding.metric.key for finding in gained} - own

    def means_of(self, verdict: EffectVerdict) -> list[MetricMean]:
        """Of those that count."""
        return [mean for mean in self.means if mean.counts and mean.verdict == verdict]

    @property
    def without_start(self) -> set[Key]:
        """Compiled cases whose cold start was not measured on both sides."""
        return self.compiled("latency_ms") - self.compiled("cold_start_s")

    def compiled(self, metric: str) -> set[Key]:
        """Compiled cases that both sides measured in a metric."""
        rows = self.tables[metric].rows if metric in self.tables else ()
        return {row.case.key for row in rows if row.case.config != EAGER}

    def to_measure_again(self) -> set[Key]:
        """Cases of which something is suspected, or failed in a way that one process does not
        prove.
        """
        suspected = {finding.row.case.key for finding in self.suspected}
        return suspected | {failure.case.key for failure in self.undecided}

    def of_cases(self, fits: Callable[[ComparedCase], bool]) -> "Judgement":
        """The same of some of the cases, by the verdicts that they have here."""
        tables = {}
        for key, table in self.tables.items():
            tables[key] = replace(table, rows=[row for row in table.rows if fits(row.case)])
        return Judgement(
            tables,
            [finding for finding in self.findings if fits(finding.row.case)],
            means_of(tables),
            [failure for failure in self.breaks if fits(failure.case)],
            [failure for failure in self.repairs if fits(failure.case)],
            [failure for failure in self.undecided if fits(failure.case)],
            [out for out in self.absent if fits(out.case)],
        )


def judge_sides(
    base: Side,
    new: Side,
    metrics: Sequence[str] = JUDGED_METRICS,
    *,
    any_libraries: bool = False,
    is_complete: bool = False,
) -> Judgement:
    """Judge `metrics` of every case. Sides must bring them and PART_METRICS.

    1. Each metric is estimated over all cases at once.
    2. One false discovery rate holds over all metrics and cases, and their means.
       The device time of a step that waits for the CPU counts only where no latency is asked for.
    3. What passed on one side and only fails on the other is counted by itself.

    any_libraries: also across library sets. is_complete: every case was to be measured on both
    sides, so that one that was not leaves the whole unknown.
    """
    tables = {}
    for key in metrics:
        tables[key] = _table(base, new, METRICS[key], any_libraries=any_libraries)
    if "device_ms" in tables and "latency_ms" in tables:
        tables["device_ms"] = _with_step_shares(tables["device_ms"], base, new)
    tables, means = judge_together(tables, means_of(tables))

    findings: list[Finding] = []
    for table in tables.values():
        for row in table.rows:
            least = min(row.effect.base.least, row.effect.new.least)
            if row.counts and not is_grain(table.metric, least):
                findings.append(Finding(table.metric, row))
    findings = _with_eager_memory(_with_device_decisions(findings), base, new)
    breaks, undecided = newly_failing(base, new)
    repairs, _ = newly_failing(new, base)
    absent: list[ExcludedCase] = []
    if tables and is_complete:
        # What other metrics lack is not a question of the case
        first, failing = next(iter(tables.values())), {each.case for each in breaks + undecided}
        absent = [out for out in first.left_out if out.case not in failing]
    return Judgement(tables, findings, means, breaks, repairs, undecided, absent)


def _with_step_shares(table: Table, base: Side, new: Side) -> Table:
    """A table of device times whose rows know where the step waits for the CPU as well."""
    rows = []
    for row in table.rows:
        share = _device_share(row.case.key, base, new)
        is_busy = share is not None and share >= BUSY_GPU_PERCENT
        rows.append(replace(row, step_share=None if is_busy else share))
    return replace(table, rows=rows)


def _with_device_decisions(findings: Sequence[Finding]) -> list[Finding]:
    """The findings; latencies know where a GPU's own time that counts is decided."""
    decided = set()
    for finding in findings:
        if finding.metric.key == "device_ms" and finding.kind not in {"suspected", "open"}:
            decided.add(finding.row.case.key)
    marked = []
    for finding in findings:
        decides = finding.metric.key == "latency_ms" and finding.row.case.key in decided
        marked.append(replace(finding, device_decides=decides))
    return marked


def _with_eager_memory(findings: Sequence[Finding], base: Side, new: Side) -> list[Finding]:
    """The findings; peaks of memory know whether eager's changed as much."""
    marked = []
    for finding in findings:
        key = finding.row.case.key
        is_memory = finding.metric.key == "peak_memory_gb"
        is_same = is_memory and eager_changed_as_much(finding.effect, key, base, new)
        marked.append(replace(finding, is_of_eager=is_same))
    return marked


def _device_share(key: Key, *sides: Side) -> float | None:
    """How much of the step the GPU worked, percent, on the side where it was less; None where that
    is not known of both.
    """
    shares = [pooled(side, key, DEVICE_SHARE) for side in sides]
    measured = [share.mean for share in shares if share is not None]
    return min(measured) if len(measured) == len(sides) else None


def judge_together(
    tables: Mapping[TableKey, Table], means: Sequence[MetricMean] = ()
) -> tuple[dict[TableKey, Table], list[MetricMean]]:
    """Both with their q and verdicts by one false discovery rate: what one page shows is judged as
    a whole.
    """
    effects = [row.effect for table in tables.values() for row in table.rows]
    judged, q_values = judge(effects, [mean.p for mean in means])
    remaining = iter(judged)
    judged_tables = {}
    for key, table in tables.items():
        rows = [replace(row, effect=next(remaining)) for row in table.rows]
        judged_tables[key] = replace(table, rows=rows)
    return judged_tables, [replace(mean, q=q) for mean, q in zip(means, q_values, strict=True)]


def _table(base: Side, new: Side, metric: Metric, *, any_libraries: bool) -> Table:
    if metric.key == "latency_ms":
        return compare_latency(base, new, any_libraries=any_libraries)
    if metric.key == "device_ms":
        base, new = _on_gpus(base), _on_gpus(new)
    return compare(base, new, metric, any_libraries=any_libraries)


def _on_gpus(side: Side) -> Side:
    """The cases of which the GPU's own time is known; a CPU's is judged by the latency alone."""
    return {key: measured for key, measured in side.items() if measured.samples.get(DEVICE_SHARE)}
