"""Parts of a report that a page shows: one metric's table, the cases that fit its filters. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from dashboard.comparisons.core.matching import Side
from dashboard.comparisons.core.tables import ComparisonRow, Table, compare
from dashboard.comparisons.core.upgrade_groups import UpgradeReport, build_report
from dashboard.judgement.changes import DECIDED, Change, Verdict
from dashboard.language.metrics import Metric

ORDERS = {
    "effect": "certain first, then largest",
    "better": "best first",
    "worse": "worst first",
    "name": "name",
}
SHOWS = {
    "changed": "only what changed",
    "better": "better",
    "worse": "worse",
    "same": "the same",
    "unclear": "unclear",
}
# Attributes of a ComparedCase
FILTERS = ("family", "mode", "model", "config")
_BADNESS: dict[Verdict, int] = {"worse": 1, "better": -1}


@dataclass(frozen=True, slots=True)
class ReportWithTable:
    """The report of two sides, and all cases of one metric, which need not be one of its own."""

    report: UpgradeReport
    table: Table


@dataclass(frozen=True, slots=True)
class CaseFilter:
    """Filter for the cases that a page shows. values: by name of FILTERS; show: of SHOWS; order: of
    ORDERS. Empty: any.
    """

    values: Mapping[str, str]
    show: str = ""
    order: str = "effect"

    @property
    def is_set(self) -> bool:
        return bool(self.show or any(self.values.values()))


def report_with_table(
    base: Side,
    new: Side,
    metric: Metric,
    *,
    any_libraries: bool = False,
    is_complete: bool = False,
) -> ReportWithTable:
    """Sides must bring the metric and REPORT_METRICS. A metric that the report does not judge is
    judged by itself.
    """
    report = build_report(base, new, any_libraries=any_libraries, is_complete=is_complete)
    table = report.tables.get(metric.key)
    if table is None:
        table = compare(base, new, metric, any_libraries=any_libraries)
    return ReportWithTable(report, table)


def filter_choices(table: Table) -> dict[str, list[str]]:
    """By name of FILTERS, the values that the table's cases have."""
    choices = {}
    for name in FILTERS:
        choices[name] = sorted({getattr(row.case, name) for row in table.rows})
    return choices


def shown_rows(table: Table, case_filter: CaseFilter) -> list[ComparisonRow]:
    """The cases that fit, in order."""
    fitting = [row for row in table.rows if _fits(row, case_filter)]
    return sorted(fitting, key=lambda row: _rank(row, case_filter.order))


def _fits(row: ComparisonRow, case_filter: CaseFilter) -> bool:
    for name, value in case_filter.values.items():
        if value and getattr(row.case, name) != value:
            return False
    if case_filter.show == "changed":
        return row.change.verdict in DECIDED
    return case_filter.show in {"", row.change.verdict}


def _rank(row: ComparisonRow, order: str) -> Any:
    if order == "name":
        return row.case.place
    size = _doubt(row.change), -row.size
    if order == "effect":
        return size
    badness = _BADNESS.get(row.change.verdict, 0) * row.size
    return badness if order == "better" else -badness, size


def _doubt(change: Change) -> int:
    """0 of what is certain, to 3 of single pairs, which may lie far apart by chance."""
    if change.grade:
        return 0 if change.is_certain else 1
    return 2 if change.has_interval else 3
