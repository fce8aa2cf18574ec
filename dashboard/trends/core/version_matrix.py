"""Cases × builds: how each case changed on each build against the base build. Pure."""

from collections.abc import Collection, Sequence
from dataclasses import dataclass

from dashboard.comparisons.core.matching import (
    ComparedCase,
    ComparisonRow,
    ExcludedCase,
    Key,
    Table,
)
from dashboard.comparisons.core.metric_effects import CHANGED, Effect
from dashboard.language.metrics import Metric
from dashboard.language.wording import plural, quantity
from dashboard.trends.core.heat import speedup_heat


@dataclass(frozen=True, slots=True)
class VersionCell:
    """A case on one build against the base: what it says, how warm (−4 … 4), what hover adds."""

    text: str
    heat: int
    about: str
    is_failed: bool = False


def version_rows(
    cases: Sequence[ComparedCase], tables: Sequence[Table], base: Table
) -> list[tuple[ComparedCase, list[VersionCell | None]]]:
    """These cases on each build.

    tables: each build's against the base, in the order of the columns.
    base: the one among them whose column has the values.
    """
    keys = [Key(case.benchmark, case.config) for case in cases]
    columns = [_column(table, set(keys), is_base=table is base) for table in tables]
    rows = []
    for key, case in zip(keys, cases, strict=True):
        rows.append((case, [column.get(key) for column in columns]))
    return rows


def _column(table: Table, keys: Collection[Key], *, is_base: bool) -> dict[Key, VersionCell]:
    make_cell = _value_cell if is_base else _change_cell
    cells = {}
    for row in table.rows:
        key = Key(row.case.benchmark, row.case.config)
        if key in keys:
            cells[key] = make_cell(row, table.metric)
    for excluded in table.left_out:
        if excluded.why != "missing":
            key = Key(excluded.case.benchmark, excluded.case.config)
            cells[key] = _excluded_cell(excluded)
    return cells


def _value_cell(row: ComparisonRow, metric: Metric) -> VersionCell:
    processes = plural(row.effect.base.n, "process", "processes")
    return VersionCell(quantity(metric, row.effect.levels[0]), 0, processes)


def _change_cell(row: ComparisonRow, metric: Metric) -> VersionCell:
    change = row.effect.change.text
    processes = plural(row.effect.new.n, "process", "processes")
    without_interval = change.partition(" (")[0]
    return VersionCell(without_interval, _heat(row.effect, metric), f"{change}; {processes}")


def _heat(effect: Effect, metric: Metric) -> int:
    if effect.verdict not in CHANGED or effect.ratio is None:
        return 0
    ratio = 1 + effect.ratio.percent / 100
    return speedup_heat(1 / ratio if metric.lower_is_better else ratio)


def _excluded_cell(excluded: ExcludedCase) -> VersionCell:
    if excluded.why == "failed":
        return VersionCell(excluded.text.partition(" on ")[0], 0, excluded.text, is_failed=True)
    return VersionCell(excluded.why, 0, excluded.text)
