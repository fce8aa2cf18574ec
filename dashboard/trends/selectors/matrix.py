"""Benchmarks × configs at one place: any metric of every case, or how it changed against a base.

matrix_cells.py says what one cell shows.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from dashboard.catalog.core.versions import short_label
from dashboard.language.metrics import EAGER
from dashboard.language.wording import change, plural, quantity
from dashboard.results.selectors.rollup import CaseRollup
from dashboard.trends.selectors.matrix_cells import (
    SPEEDUP,
    MatrixCell,
    MatrixQuery,
    doubted,
    eager_cell,
    make_cell,
    older_cell,
)

ORDERS = {"": "as registered", "name": "by name", "worst": "worst first", "best": "best first"}


class ColumnMean(NamedTuple):
    """The geomean of one config over the cases of a family that one build measured: the newest that
    measured any. text: empty without one.
    """

    text: str = ""
    build: str = ""
    cases: int = 0

    @property
    def about(self) -> str:
        """The build and the number of cases, in words."""
        return f"{self.build}, {plural(self.cases, 'case')}" if self.text else ""


@dataclass(frozen=True, slots=True)
class MatrixRow:
    """One benchmark with its cells in the order of the configs."""

    benchmark: str
    family: str
    mode: str
    dtype: str
    cells: list[MatrixCell | None]


@dataclass(frozen=True, slots=True)
class Matrix:
    """The rows, and what they count.

    means: family -> the geomean of each config's column; empty where rows are not grouped by it.
    """

    configs: list[str]
    rows: list[MatrixRow]
    measured: int
    failed: int
    means: dict[str, list[ColumnMean]] = field(default_factory=dict)


def make_matrix(cases: Sequence[CaseRollup], query: MatrixQuery) -> Matrix:
    """The table of these cases: a row for each benchmark that fits the status of the query."""
    positions = sorted({(case.config_position, case.config) for case in cases})
    configs = [config for _, config in positions]

    families: dict[str, dict[str, dict[str, CaseRollup]]] = {}
    for case in cases:
        benchmarks = families.setdefault(case.family, {})
        benchmarks.setdefault(case.benchmark, {})[case.config] = case

    rows = []
    for benchmarks in families.values():
        for by_config in benchmarks.values():
            if _fits_status(by_config.values(), query.status):
                rows.append(_row(by_config, configs, query))

    rows = _ordered(rows, configs, query.order)
    cells: list[MatrixCell] = []
    for row in rows:
        cells += filter(None, row.cells)
    failed = sum(cell.case.failed for cell in cells)
    return Matrix(configs, rows, len(cells), failed, _means(rows, query))


def _fits_status(cases: Iterable[CaseRollup], status: str) -> bool:
    """Test whether one of the cases has the status; "failed" is any but pass, empty is any."""
    if not status:
        return True
    if status == "failed":
        return any(case.failed for case in cases)
    return any((case.status or "pass") == status for case in cases)


def _row(by_config: dict[str, CaseRollup], configs: Sequence[str], query: MatrixQuery) -> MatrixRow:
    first = next(iter(by_config.values()))
    newest_version = max(case.version for case in by_config.values())
    by_column = {}
    for config, case in by_config.items():
        is_older = 0 < case.version < newest_version
        by_column[config] = older_cell(case, newest_version) if is_older else make_cell(case, query)
    if query.metric == SPEEDUP and EAGER in by_config:
        cases = [case for case in by_config.values() if case.version in (0, newest_version)]
        if eager := eager_cell(cases, query):
            by_column[EAGER] = eager._replace(case=by_config[EAGER])
    cells = [by_column.get(config) for config in configs]
    return MatrixRow(first.benchmark, first.family, first.mode, first.dtype, cells)


def _ordered(rows: list[MatrixRow], configs: Sequence[str], order: str) -> list[MatrixRow]:
    """By name, by the whole row, or by one config's column; what has nothing to sort by is last."""
    if order == "name":
        return sorted(rows, key=lambda row: row.benchmark)
    config = order.removeprefix("-")
    if order in {"worst", "best"}:
        columns = slice(None)
    elif config in configs:
        column = configs.index(config)
        columns = slice(column, column + 1)
    else:
        return rows
    worst_first = order == "worst" or order.startswith("-")

    def sort_key(row: MatrixRow) -> tuple[bool, float]:
        goodness = _extreme(row.cells[columns], worst=worst_first)
        if goodness is None:
            return True, 0.0
        return False, goodness if worst_first else -goodness

    return sorted(rows, key=sort_key)


def _extreme(cells: Iterable[MatrixCell | None], *, worst: bool) -> float | None:
    """The worst, or the best, goodness of some cells; a failure is worse than any value."""
    values = []
    for cell in cells:
        if cell is None:
            continue
        if cell.case.failed and worst:
            values.append(-math.inf)
        elif cell.goodness is not None:
            values.append(cell.goodness)
    if not values:
        return None
    return min(values) if worst else max(values)


def _means(rows: Sequence[MatrixRow], query: MatrixQuery) -> dict[str, list[ColumnMean]]:
    """The geomean of each config over a family: of the values, or of the changes against the base.

    Empty where another order does not keep families together.
    """
    if query.order or query.metric.aggregate != "geomean":
        return {}
    families: dict[str, list[MatrixRow]] = {}
    for row in rows:
        families.setdefault(row.family, []).append(row)

    means = {}
    for family, members in families.items():
        columns = zip(*(row.cells for row in members), strict=True)
        means[family] = [_mean(column, query) for column in columns]
    return means


def _mean(column: Iterable[MatrixCell | None], query: MatrixQuery) -> ColumnMean:
    metric = query.metric
    logs: dict[tuple[int, str], list[float]] = {}
    for cell in column:
        if cell is None or cell.goodness is None:
            continue
        newest = cell.case.newest[metric.key]
        value = newest.value or 0.0
        base = query.base_value(cell.case) or 0.0
        if query.base is None:
            base = 1.0
        if value > 0 and base > 0:
            logs.setdefault((newest.age, newest.build or ""), []).append(math.log(value / base))
    if not logs:
        return ColumnMean()

    (_, build), of_build = min(logs.items())
    mean = math.exp(math.fsum(of_build) / len(of_build))
    text = quantity(metric, mean)
    if query.base is not None:
        text = doubted(change(metric, 1.0, mean), metric)
    return ColumnMean(text, short_label(build), len(of_build))
