"""The rows of the benchmarks' tables, made in Python: thousands of cells take a template longer."""

from collections.abc import Iterator, Sequence
from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from dashboard.language.metrics import EAGER
from dashboard.language.wording import plural
from dashboard.trends.selectors.benchmark_lines import BenchmarkLine, LineFamily
from dashboard.trends.selectors.matrix import ColumnMean, Matrix, MatrixRow
from dashboard.trends.selectors.matrix_cells import SPEEDUP, MatrixCell, MatrixQuery
from dashboard.ui.locations import SeriesLocation
from dashboard.ui.templatetags.compilewatch import breakable, heat_class

register = template.Library()

_ALONE = "no build measured two configs that can be compared"
_NOT_MEASURED = '<span class="none" title="not measured">–</span>'


# --- The matrix: a column for every config
@register.simple_tag
def matrix_rows(matrix: Matrix, query: MatrixQuery, place: SeriesLocation) -> SafeString:
    """Every row; in their own order, a family's line before its first row."""
    rows = _rows(matrix, _trend_query(query, place), by_family=not query.order)
    return mark_safe("".join(rows))  # noqa: S308 - escaped below


def _trend_query(query: MatrixQuery, place: SeriesLocation) -> str:
    address = place.trend_query
    if query.metric != SPEEDUP:
        address += f"&metric={query.metric.key}"
    return escape(address)


def _rows(matrix: Matrix, address: str, *, by_family: bool) -> Iterator[str]:
    family = None
    for row in matrix.rows:
        if row.family != family and by_family:
            means = matrix.means.get(row.family, [ColumnMean()] * len(matrix.configs))
            cells = "".join(f"<td>{_mean(mean)}</td>" for mean in means)
            head = f'<th scope="rowgroup">{escape(row.family)}</th>'
            yield f'<tr class="group">{head}{cells}</tr>'
        family = row.family
        yield _row(row, address)


def _mean(mean: ColumnMean) -> str:
    """With the build and the number of cases that it is over."""
    return f"{escape(mean.text)} <small>{escape(mean.about)}</small>" if mean.text else ""


def _row(row: MatrixRow, query: str) -> str:
    address = _trend(row, query)
    link = f'<a class="name" href="{address}">{breakable(row.benchmark)}</a>'
    cells = "".join(f"<td>{_cell(cell, address)}</td>" for cell in row.cells)
    return f'<tr><th scope="row">{link}</th>{cells}</tr>'


def _trend(row: MatrixRow, query: str) -> str:
    return f"{reverse('series', args=[row.benchmark])}?{query}"


def _cell(cell: MatrixCell | None, address: str) -> str:
    if cell is None:
        return '<span class="none" title="not measured">·</span>'
    css_class = "failed" if cell.case.failed else heat_class(cell.heat)
    if cell.is_quiet:
        css_class = "older"
    about = escape(cell.about)
    build = f" <small>{escape(cell.build)}</small>" if cell.build else ""
    address += f"&amp;config={escape(cell.case.config)}"
    if cell.case.config != EAGER:
        address += f"&amp;config={EAGER}"
    return (
        f'<a class="{css_class}" title="{about}" href="{address}">'
        f'{escape(cell.text)}{build}<span class="visually-hidden">, {about}</span></a>'
    )


# --- The short table: a line for each benchmark
@register.simple_tag
def benchmark_lines(
    families: Sequence[LineFamily],
    columns: Sequence[str],
    query: MatrixQuery,
    place: SeriesLocation,
    toggles: dict[str, str],
) -> SafeString:
    """Every benchmark in a line, those that are open with all their configs below it.

    toggles: benchmark -> the address of the page with the benchmark opened, or closed again.
    """
    address = _trend_query(query, place)
    rows: list[str] = []
    for family in families:
        if family.name:
            rows.append(_family(family, columns))
        for line in family.lines:
            rows.append(_line(line, columns, address, escape(toggles[line.row.benchmark])))
            if line.is_open:
                trend = _trend(line.row, address)
                configs = "".join(_named(cell, trend) for cell in line.others)
                span = len(columns) + 4
                rows.append(f'<tr class="opened"><td colspan="{span}"><p>{configs}</p></td></tr>')
    return mark_safe("".join(rows))  # noqa: S308 - escaped above and below


def _family(family: LineFamily, columns: Sequence[str]) -> str:
    cells = ""
    for config, mean in zip(columns, family.means, strict=True):
        cells += f'<td class="number" data-label="{escape(config)}">{_mean(mean)}</td>'
    head = f'<th scope="rowgroup" colspan="2">{escape(family.name)}</th>'
    return f'<tr class="group">{head}{cells}<td></td><td></td></tr>'


def _line(line: BenchmarkLine, columns: Sequence[str], query: str, toggle: str) -> str:
    row, address = line.row, _trend(line.row, query)
    name = escape(row.benchmark)
    cells = ""
    for config, cell in zip(columns, line.cells, strict=True):
        shown = _cell(cell, address) if cell else _NOT_MEASURED
        cells += f'<td class="number" data-label="{escape(config)}">{shown}</td>'
    return (
        f'<tr id="{name}"><th scope="row"><a class="name" href="{address}" title="{name}">'
        f"{breakable(line.model)}</a> <small>{escape(line.variant)}</small></th>"
        f"<td>{escape(row.mode)}</td>{cells}{_best(line, address)}"
        f'<td class="rest">{_rest(line, address, toggle)}</td></tr>'
    )


def _best(line: BenchmarkLine, address: str) -> str:
    if line.best is None:
        return f'<td><span class="none" title="{_ALONE}">–</span></td>'
    config: str = breakable(line.best.case.config)
    tied = line.tied_with
    if len(tied) == 1:
        config += f" or {breakable(tied[0])}"
    elif tied:
        config += f' or <span title="{escape(", ".join(tied))}">{len(tied)} others</span>'
    cell = _cell(line.best, address)
    return f'<td class="best" data-label="best">{cell} <small>{config}</small></td>'


def _rest(line: BenchmarkLine, address: str, toggle: str) -> str:
    """Render what failed, and the link that shows the other configs, or hides them again."""
    failed = "".join(_named(cell, address) for cell in line.failed)
    if not line.others:
        return failed
    name = escape(line.row.benchmark)
    shown = plural(len(line.others), "more", "more")
    state = "true" if line.is_open else "false"
    return (
        f'{failed}<a class="opens" id="open-{name}" href="{toggle}#{name}" hx-get="{toggle}"'
        f' aria-expanded="{state}">{shown}<span class="visually-hidden"> of {name}</span></a>'
    )


def _named(cell: MatrixCell, address: str) -> str:
    return (
        f'<span class="config"><small>{breakable(cell.case.config)}</small> '
        f"{_cell(cell, address)}</span>"
    )
