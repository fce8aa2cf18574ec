"""Matched cases with their changes, metric by metric, judged together. Pure."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from statistics import fmean, geometric_mean
from typing import Literal, TypeVar

from dashboard.comparisons.core.case_samples import CaseSamples, pairs_of
from dashboard.comparisons.core.matching import (
    ComparedCase,
    ExcludedCase,
    MatchedCase,
    Matches,
    Side,
    match_cases,
)
from dashboard.judgement.changes import DECIDED, Change, Verdict, threshold_of, verdict_of
from dashboard.judgement.experiment import Judged, Measured, judge
from dashboard.language.metrics import EAGER, METRICS, Metric

TableKey = TypeVar("TableKey")  # a metric's key, or the id of a build
ChangedPart = Literal["in eager too", "compiled only", "both", "not known", ""]


@dataclass(frozen=True, slots=True)
class ComparisonRow:
    """A matched case with its change.

    measured: what the change was judged from. step_share: as a MatchedCase has it.
    eager: of a compiled latency the eager control in the same processes.
    speedup: the speedup over that control, whose inverse is what the compiler adds to the change.
    """

    case: ComparedCase
    base: CaseSamples
    new: CaseSamples
    change: Change
    measured: Measured
    step_share: float | None = None
    eager: "ComparisonRow | None" = None
    speedup: "ComparisonRow | None" = None

    @property
    def counts(self) -> bool:
        """True if it takes part in the verdict."""
        return self.step_share is None

    @property
    def levels(self) -> tuple[float, float]:
        """One number for each side, which differ by the change: base is the mean of the pairs that
        the change is judged from. Without pairs the means of all processes.
        """
        change = self.change
        judged = pairs_of(self.base, self.new)[: change.pairs]
        if change.is_ratio:
            if not judged:
                return self.base.value, self.new.value
            base = geometric_mean(pair.base for pair in judged)
            return base, base * math.exp(change.effect)
        base = fmean(pair.base for pair in judged) if judged else self.base.mean
        return base, base + change.effect if judged else self.new.mean

    @property
    def size(self) -> float:
        """By which tables are sorted."""
        return abs(self.change.effect)

    @property
    def compiled_only(self) -> Change | None:
        """latency = eager latency / speedup: in logs the two parts add up, and the speedup is
        paired within its process.
        """
        if self.speedup is None:
            return None
        gain = self.speedup.change
        metric = METRICS["latency_ms"]
        low, high = -gain.high, -gain.low
        return replace(gain, metric=metric, effect=-gain.effect, low=low, high=high)

    @property
    def changed_part(self) -> ChangedPart:
        """Parts, of the two, that changed as the whole did; empty where the whole did not."""
        whole, compiled_only = self.change.verdict, self.compiled_only
        if whole not in DECIDED or self.eager is None or compiled_only is None:
            return ""
        is_eager = _part_verdict(self.eager.change) == whole
        is_compiled = _part_verdict(compiled_only) == whole
        if is_eager:
            return "both" if is_compiled else "in eager too"
        return "compiled only" if is_compiled else "not known"


def _part_verdict(part: Change) -> Verdict:
    return verdict_of(part.metric, part.effect, part.low, part.high, threshold_of(part.metric))


@dataclass(frozen=True, slots=True)
class Table:
    """One metric: the matched cases, the largest change first, and the others."""

    metric: Metric
    rows: list[ComparisonRow]
    left_out: list[ExcludedCase]

    @property
    def changed(self) -> list[ComparisonRow]:
        return [row for row in self.rows if row.change.verdict in DECIDED]


def judge_together(
    matches: Mapping[TableKey, Matches],
) -> tuple[dict[TableKey, Table], Judged]:
    """Judge what one page shows as a whole: each table with the changes of its cases."""
    measured = []
    for of_table in matches.values():
        measured += [_measured(each, of_table.metric) for each in of_table.cases]
    judged = judge(measured)
    remaining = zip(measured, judged.changes, strict=True)
    tables = {}
    for key, of_table in matches.items():
        rows = []
        for each in of_table.cases:
            values, change = next(remaining)
            if not values.pairs:
                change = _without_pairs(each, of_table.metric)
            row = ComparisonRow(each.case, each.base, each.new, change, values, each.step_share)
            rows.append(row)
        rows.sort(key=lambda row: -row.size)
        tables[key] = Table(of_table.metric, rows, of_table.left_out)
    return tables, judged


def _measured(each: MatchedCase, metric: Metric) -> Measured:
    return Measured(
        each.case.key,
        metric,
        pairs_of(each.base, each.new),
        alike=each.is_gpu_busy,
        widest=each.widest,
        is_averaged=each.case.config != EAGER and each.step_share is None,
    )


def _without_pairs(each: MatchedCase, metric: Metric) -> Change:
    """The difference, which is shown without a verdict: it may be the device's, or the day's."""
    is_count = metric.aggregate in ("sum", "share")
    if is_count or each.base.level is None or each.new.level is None:
        difference = each.new.mean - each.base.mean
        return Change(each.case.key, metric, difference, basis="none", is_ratio=False)
    log = each.new.level.mean - each.base.level.mean
    return Change(each.case.key, metric, log, basis="none")


def compare(base: Side, new: Side, metric: Metric, *, any_libraries: bool = False) -> Table:
    """Match the cases of two sides and judge one metric by itself."""
    matches = match_cases(base, new, metric, any_libraries=any_libraries)
    tables, _ = judge_together({metric.key: matches})
    return tables[metric.key]


def with_controls(table: Table, base: Side, new: Side, *, any_libraries: bool = False) -> Table:
    """A table of latencies, each compiled case with its eager control and its speedup."""

    def rows_of(metric: str) -> dict[ComparedCase, ComparisonRow]:
        part = compare(base, new, METRICS[metric], any_libraries=any_libraries)
        return {row.case: row for row in part.rows}

    controls, speedups = rows_of("eager_latency_ms"), rows_of("speedup")
    rows = []
    for row in table.rows:
        eager, speedup = controls.get(row.case), speedups.get(row.case)
        if row.case.config != EAGER and eager and speedup:
            rows.append(replace(row, eager=eager, speedup=speedup))
        else:
            rows.append(row)
    return replace(table, rows=rows)
