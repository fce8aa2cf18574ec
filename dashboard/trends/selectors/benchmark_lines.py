"""A benchmark in one line: eager, inductor, its best config, what failed, and how many more."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from dashboard.language.metrics import EAGER, Metric, is_grain
from dashboard.results.selectors.rollup import Newest
from dashboard.trends.core.heat import change_heat
from dashboard.trends.selectors.matrix import ColumnMean, Matrix, MatrixRow
from dashboard.trends.selectors.matrix_cells import SPEEDUP, MatrixCell, MatrixQuery, eager_cell

MAIN_CONFIGS = (EAGER, "inductor")
_USUAL_SIZE = "standard"


@dataclass(frozen=True, slots=True)
class BenchmarkLine:
    """One row of the short table.

    variant: what tells it apart from the other benchmarks of its model and mode.
    cells: of the table's columns.
    best: the best config of the newest build that measured two or more, against a base the one
        that changed most; None where no build measured two that can be compared.
    tied_with: the configs that it is not surely ahead of.
    failed: what failed outside the columns.
    others: what neither the columns nor the best nor the failed ones show.
    """

    row: MatrixRow
    variant: str
    cells: list[MatrixCell | None]
    best: MatrixCell | None
    tied_with: list[str]
    failed: list[MatrixCell]
    others: list[MatrixCell]
    is_open: bool

    @property
    def model(self) -> str:
        return self.row.benchmark.partition(".")[0]


@dataclass(frozen=True, slots=True)
class LineFamily:
    """The lines of a family. name: empty where another order mixes families.

    means: of its columns.
    """

    name: str
    means: list[ColumnMean]
    lines: list[BenchmarkLine]


def line_columns(matrix: Matrix, query: MatrixQuery) -> list[str]:
    """The configs that have a column: eager, inductor, and the one that rows are sorted by; of
    imports that have neither, the first ones.
    """
    columns = [*MAIN_CONFIGS]
    if matrix.configs and not set(columns) & set(matrix.configs):
        columns = [*matrix.configs[: len(columns)]]
    order = query.order.removeprefix("-")
    if order in matrix.configs and order not in columns:
        columns.append(order)
    return columns


def line_families(matrix: Matrix, query: MatrixQuery, opened: Collection[str]) -> list[LineFamily]:
    """The rows of the matrix in its order, each in a line. opened: benchmarks shown in full."""
    columns = line_columns(matrix, query)
    families: list[LineFamily] = []
    for row in matrix.rows:
        family = "" if query.order else row.family
        if not families or families[-1].name != family:
            means = dict(zip(matrix.configs, matrix.means.get(family, []), strict=False))
            shown = [means.get(config, ColumnMean()) for config in columns]
            families.append(LineFamily(family, shown, []))
        by_config = dict(zip(matrix.configs, row.cells, strict=True))
        families[-1].lines.append(
            _line(row, by_config, columns, query, is_open=row.benchmark in opened)
        )
    return families


def _line(
    row: MatrixRow,
    by_config: Mapping[str, MatrixCell | None],
    columns: Sequence[str],
    query: MatrixQuery,
    *,
    is_open: bool,
) -> BenchmarkLine:
    best, tied_with = _best(row, query)
    failed, others = [], []
    for config, cell in by_config.items():
        if cell is None or config in columns:
            continue
        if cell.case.failed:
            failed.append(cell)
        elif cell is not best:
            others.append(cell)
    cells = [by_config.get(config) for config in columns]
    if cells[0] is None and query.metric == SPEEDUP:
        cells[0] = eager_cell(
            [cell.case for cell in row.cells if cell and not cell.is_older], query
        )
    parts = row.benchmark.split(".")[1:]  # of its name, after the model
    return BenchmarkLine(
        row=row,
        variant=" ".join(part for part in parts if part not in (row.mode, _USUAL_SIZE)),
        cells=cells,
        best=best,
        tied_with=tied_with,
        failed=failed,
        others=others,
        is_open=is_open,
    )


def _best(row: MatrixRow, query: MatrixQuery) -> tuple[MatrixCell | None, list[str]]:
    """The best cell of a row, and the configs that it is not surely ahead of.

    Only values of one build are compared: a difference between builds is not the config's doing.
    """
    cells = _of_one_build(row, query)
    if not cells:
        return None, []
    if query.base is not None:
        return max(cells, key=lambda cell: abs(cell.goodness or 0.0)), []
    best = max(cells, key=lambda cell: cell.goodness or 0.0)
    tied = []
    for cell in cells:
        if cell is not best and _is_tie(cell, best, query.metric):
            tied.append(cell.case.config)
    return best, tied


def _of_one_build(row: MatrixRow, query: MatrixQuery) -> list[MatrixCell]:
    """The cells with a value of the newest build that has two or more; else none."""
    of_builds: dict[str | None, list[MatrixCell]] = {}
    for cell in row.cells:
        if cell and cell.goodness is not None:
            newest = cell.case.newest[query.metric.key]
            if not is_grain(query.metric, newest.value or 0.0):
                of_builds.setdefault(newest.build, []).append(cell)
    for build in query.builds:
        if len(of_builds.get(build, [])) > 1:
            return of_builds[build]
    return []


def _is_tie(cell: MatrixCell, best: MatrixCell, metric: Metric) -> bool:
    """Test whether intervals overlap, or values differ by less than the metric's threshold."""
    one, other = cell.case.newest[metric.key], best.case.newest[metric.key]
    return _overlap(one, other) or change_heat(metric, one.value or 0.0, other.value or 0.0) == 0


def _overlap(one: Newest, other: Newest) -> bool:
    """Test whether two intervals overlap; False where one of them is not known."""
    if one.low is None or one.high is None or other.low is None or other.high is None:
        return False
    return one.low <= other.high and other.low <= one.high
