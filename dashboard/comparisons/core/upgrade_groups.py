"""A comparison divided into groups of cases, each with its own answer: all, by model, by family.
Pure.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeVar

from dashboard.comparisons.core.matching import (
    ComparedCase,
    ComparisonRow,
    Side,
    Table,
    compare,
    compare_latency,
)
from dashboard.comparisons.core.metric_effects import Effect
from dashboard.comparisons.core.upgrade_answer import (
    COSTS,
    NOTHING_MEASURED,
    MetricSummary,
    UpgradeAnswer,
    answer,
    summarize,
)
from dashboard.language.metrics import EAGER, METRICS

# What `build_report` needs of each side
REPORT_METRICS = ("latency_ms", "eager_latency_ms", "speedup", *COSTS)

GroupName = tuple[str, str]  # a model and "", or a family and its mode
NameOf = Callable[[ComparedCase], GroupName]


class Failure(NamedTuple):
    """A case that fails, and how: "oom, timeout"."""

    case: ComparedCase
    how: str

    @property
    def text(self) -> str:
        return f"{self.case.benchmark} {self.case.config} ({self.how})"


OfCase = TypeVar("OfCase", ComparisonRow, Failure)


@dataclass(frozen=True, slots=True)
class CaseGroup:
    """Some of the cases: of one model, or of one family and mode, or all.

    summaries: of the compiled steps, the eager steps, then COSTS.
    breaks, repairs: cases that fail on the new side alone, or on the base side alone, in words.
    """

    name: str
    mode: str
    summaries: list[MetricSummary]
    breaks: list[str]
    repairs: list[str]
    answer: UpgradeAnswer

    @property
    def is_matched(self) -> bool:
        """Whether anything of it was measured on both sides, or fails on one of them alone."""
        return self.answer.sentence != NOTHING_MEASURED

    def of(self, key: str) -> MetricSummary:
        return next(summary for summary in self.summaries if summary.key == key)


@dataclass(frozen=True, slots=True)
class UpgradeReport:
    """All of a comparison. tables: by metric."""

    tables: dict[str, Table]
    overall: CaseGroup
    models: list[CaseGroup]
    families: list[CaseGroup]
    is_within: bool

    @property
    def latency(self) -> Table:
        return self.tables["latency_ms"]


def build_report(base: Side, new: Side, *, any_libraries: bool = False) -> UpgradeReport:
    """The whole answer. Sides must bring REPORT_METRICS."""
    tables = {"latency_ms": compare_latency(base, new, any_libraries=any_libraries)}
    for key in COSTS:
        tables[key] = compare(base, new, METRICS[key], any_libraries=any_libraries)
    breaks, repairs = newly_failing(base, new), newly_failing(new, base)
    every_row = {key: table.rows for key, table in tables.items()}
    overall = _group(("all", ""), every_row, breaks, repairs)

    cases = {measured.case for measured in (*base.values(), *new.values())}
    in_order = sorted(cases, key=lambda case: case.place)

    def groups(name_of: NameOf) -> list[CaseGroup]:
        return _groups(in_order, name_of, every_row, breaks, repairs)

    return UpgradeReport(
        tables,
        overall,
        models=groups(lambda case: (case.model, "")),
        families=groups(lambda case: (case.family, case.mode)),
        is_within=overall.of("latency_ms").is_within,
    )


def newly_failing(passing: Side, failing: Side) -> list[Failure]:
    """Cases that pass on one side and only fail on the other, with how they fail."""
    failures = []
    for key, measured in failing.items():
        only_fails = measured.failures and "latency_ms" not in measured.samples
        if only_fails and key in passing and passing[key].samples:
            failures.append(Failure(measured.case, ", ".join(sorted(measured.failures))))
    return failures


def _groups(
    cases: Sequence[ComparedCase],
    name_of: NameOf,
    rows: dict[str, list[ComparisonRow]],
    breaks: Sequence[Failure],
    repairs: Sequence[Failure],
) -> list[CaseGroup]:
    """The cases divided by their name, in the order of `cases`."""
    rows_by_name = {key: _by_name(of_metric, name_of) for key, of_metric in rows.items()}
    breaks_by_name, repairs_by_name = _by_name(breaks, name_of), _by_name(repairs, name_of)
    groups = []
    for name in dict.fromkeys(map(name_of, cases)):
        own_rows = {key: by_name.get(name, []) for key, by_name in rows_by_name.items()}
        own_breaks, own_repairs = breaks_by_name.get(name, []), repairs_by_name.get(name, [])
        groups.append(_group(name, own_rows, own_breaks, own_repairs))
    return groups


def _by_name(items: Sequence[OfCase], name_of: NameOf) -> dict[GroupName, list[OfCase]]:
    by_name: dict[GroupName, list[OfCase]] = {}
    for item in items:
        by_name.setdefault(name_of(item.case), []).append(item)
    return by_name


def _group(
    name: GroupName,
    rows: dict[str, list[ComparisonRow]],
    breaks: Sequence[Failure],
    repairs: Sequence[Failure],
) -> CaseGroup:
    """rows: by metric."""
    summaries = [
        summarize("latency_ms", _compiled(rows["latency_ms"])),
        summarize("eager", _controls(rows["latency_ms"])),
        *(summarize(key, _compiled(rows[key])) for key in COSTS),
    ]
    broken = [failure.text for failure in breaks]
    repaired = [failure.text for failure in repairs]
    conclusion = answer(summaries, broken, repaired)
    return CaseGroup(*name, summaries, broken, repaired, conclusion)


def _compiled(rows: Sequence[ComparisonRow]) -> list[Effect]:
    return [row.effect for row in rows if row.case.config != EAGER]


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
