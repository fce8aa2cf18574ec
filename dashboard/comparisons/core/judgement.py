"""Judgement of a change between two sides, in all cases and metrics at once. Pure.

Headline, tables, gate, files and API all read one `Judgement`, so that no two of them can say
different things.
"""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from dashboard.comparisons.core.eager_memory import EAGER_MEMORY, eager_changed_as_much
from dashboard.comparisons.core.failures import Failure, newly_failing
from dashboard.comparisons.core.matching import (
    DEVICE_SHARE,
    ComparedCase,
    ExcludedCase,
    Key,
    Matches,
    Side,
    match_cases,
)
from dashboard.comparisons.core.means import MetricMean, means_of
from dashboard.comparisons.core.tables import ComparisonRow, Table, judge_together, with_controls
from dashboard.judgement.changes import Answer, Change, Verdict, answer
from dashboard.language.metrics import EAGER, METRICS, Metric, is_grain

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
# Of each side, whatever is judged: they show which part of a step changed, and what it waits for
PART_METRICS = ("latency_ms", "eager_latency_ms", "speedup", DEVICE_SHARE, EAGER_MEMORY)


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric of one case.

    device_decides: it is a step that waits for the GPU, is unclear, and the GPU's own time is not.
    is_of_eager: it is a peak of memory, and eager's changed by as many bytes.
    """

    row: ComparisonRow
    device_decides: bool = False
    is_of_eager: bool = False

    @property
    def change(self) -> Change:
        return self.row.change

    @property
    def metric(self) -> Metric:
        return self.row.change.metric

    @property
    def counts(self) -> bool:
        """True if it takes part in the answer."""
        return not (self.device_decides or self.is_of_eager)


@dataclass(frozen=True, slots=True)
class Judgement:
    """tables: by metric, judged together. findings: of those of their rows that count. means: over
    all cases of a metric; of the device time over those that count, where there are any.

    breaks, repairs: cases that fail on the new side alone, or on the base side alone.
    undecided: cases that failed there in a way that one process does not prove.
    absent: cases that had to be compared and were not, with the reason.
    contradicting: metrics whose sessions contradict each other, so that they are the values.
    """

    tables: dict[str, Table]
    findings: list[Finding]
    means: list[MetricMean]
    breaks: list[Failure]
    repairs: list[Failure]
    undecided: list[Failure]
    absent: list[ExcludedCase]
    contradicting: set[str]

    @property
    def answer(self) -> Answer:
        """Answer from everything that counts; a mean counts where no case says as much."""
        others: list[Verdict] = ["worse" for _ in self.breaks]
        others += ["better" for _ in self.repairs]
        others += ["unclear" for _ in self.undecided]
        others += ["unclear" for out in self.absent if out.lacks_data]
        changes = [finding.change for finding in self.findings if finding.counts]
        said = {(change.verdict, change.grade) for change in changes}
        for mean in self.means_of("worse") + self.means_of("better"):
            if (mean.mean.verdict, mean.mean.grade) not in said:
                changes.append(mean.mean)
        return answer(changes, others)

    @property
    def step_bound(self) -> float:
        """Percent by which no step that did not get worse can be slower; of those that the GPU's
        own time decides, that time. Infinite where it is not known, or of no such step.
        """
        by_device = {finding.row.case.key for finding in self.findings if finding.device_decides}
        changes = []
        for finding in self.findings:
            is_needed = finding.row.case.key in by_device or finding.metric.key == "latency_ms"
            is_step = finding.metric.key in STEP_TIMES and finding.counts
            if is_needed and is_step and finding.change.verdict != "worse":
                changes.append(finding.change)
        return answer(changes).bound if changes else math.inf

    def of_verdict(self, verdict: Verdict) -> list[Finding]:
        """List the findings that count: certain ones first, then steps, then the largest."""
        findings = []
        for finding in self.findings:
            if finding.counts and finding.change.verdict == verdict:
                findings.append(finding)
        findings.sort(key=lambda each: -each.row.size)
        findings.sort(key=lambda each: each.metric.key not in STEP_TIMES)
        return sorted(findings, key=lambda each: not each.change.is_certain)

    @property
    def decided(self) -> list[Finding]:
        """Changes for worse, then those for better."""
        return self.of_verdict("worse") + self.of_verdict("better")

    @property
    def open(self) -> list[Finding]:
        """Findings that more pairs would decide: likely changes for the worse, then the unclear."""
        worse = self.of_verdict("worse")
        likely = [finding for finding in worse if not finding.change.is_certain]
        return likely + self.of_verdict("unclear")

    def means_of(self, verdict: Verdict) -> list[MetricMean]:
        """List the means of this verdict that count and cover several cases."""
        means = [mean for mean in self.means if mean.counts and mean.matched > 1]
        return [mean for mean in means if mean.mean.verdict == verdict]

    @property
    def is_certainly_worse(self) -> bool:
        """True if something certainly got worse, or fails now and passed before."""
        worse = [finding.change for finding in self.of_verdict("worse")]
        worse += [mean.mean for mean in self.means_of("worse")]
        return bool(self.breaks) or any(change.is_certain for change in worse)

    def compiled(self, metric: str) -> set[Key]:
        """Compiled cases that both sides measured in a metric."""
        rows = self.tables[metric].rows if metric in self.tables else ()
        return {row.case.key for row in rows if row.case.config != EAGER}

    def to_measure_again(self) -> set[Key]:
        """Cases of which a change is likely, or that failed in a way that one process does not
        prove.
        """
        likely = {each.row.case.key for each in self.decided if each.change.grade == "likely"}
        return likely | {failure.case.key for failure in self.undecided}

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
            self.contradicting,
        )


def judge_sides(
    base: Side,
    new: Side,
    metrics: Sequence[str] = JUDGED_METRICS,
    *,
    any_libraries: bool = False,
    is_complete: bool = False,
) -> Judgement:
    """Judge `metrics` of every case as one experiment. Sides must bring them and PART_METRICS.

    What passed on one side and only fails on the other is counted by itself. The device time of a
    step that waits for the CPU counts only where no latency is asked for.

    any_libraries: also across library sets. is_complete: every case was to be measured on both
    sides, so that one that was not leaves the whole unclear.
    """
    matches = {}
    for key in metrics:
        matches[key] = _matches(base, new, METRICS[key], any_libraries=any_libraries)
    if "latency_ms" not in matches and "device_ms" in matches:
        cases = [replace(each, step_share=None) for each in matches["device_ms"].cases]
        matches["device_ms"] = replace(matches["device_ms"], cases=cases)
    tables, judged = judge_together(matches)
    if "latency_ms" in tables:
        latency = tables["latency_ms"]
        tables["latency_ms"] = with_controls(latency, base, new, any_libraries=any_libraries)

    breaks, undecided = newly_failing(base, new)
    repairs, _ = newly_failing(new, base)
    absent: list[ExcludedCase] = []
    if tables and is_complete:
        # What other metrics lack is not a question of the case
        first, failing = next(iter(tables.values())), {each.case for each in breaks + undecided}
        absent = [out for out in first.left_out if out.case not in failing]
    findings = _findings(tables, base, new)
    means = means_of(tables, judged.means)
    contradicting = judged.contradicting
    return Judgement(tables, findings, means, breaks, repairs, undecided, absent, contradicting)


def _matches(base: Side, new: Side, metric: Metric, *, any_libraries: bool) -> Matches:
    """Match cases, by device time only where the GPU's is known: latency alone judges a CPU."""
    if metric.key == "device_ms":
        base = {key: each for key, each in base.items() if each.samples.get(DEVICE_SHARE)}
        new = {key: each for key, each in new.items() if each.samples.get(DEVICE_SHARE)}
    return match_cases(base, new, metric, any_libraries=any_libraries)


def _findings(tables: dict[str, Table], base: Side, new: Side) -> list[Finding]:
    decided = set()
    for row in tables["device_ms"].rows if "device_ms" in tables else ():
        if row.counts and row.change.verdict != "unclear":
            decided.add(row.case.key)
    findings = []
    for key, table in tables.items():
        for row in table.rows:
            if not row.counts or is_grain(table.metric, min(row.base.least, row.new.least)):
                continue
            is_open_step = key == "latency_ms" and row.change.verdict == "unclear"
            is_of_eager = key == "peak_memory_gb" and eager_changed_as_much(row, base, new)
            findings.append(Finding(row, is_open_step and row.case.key in decided, is_of_eager))
    return findings
