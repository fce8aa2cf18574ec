"""The rows of the matrix, made in Python: thousands of cells take a template longer."""

from collections.abc import Iterator
from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from dashboard.language.metrics import EAGER
from dashboard.trends.selectors.matrix import Matrix, MatrixRow
from dashboard.trends.selectors.matrix_cells import SPEEDUP, MatrixCell, MatrixQuery
from dashboard.ui.locations import SeriesLocation
from dashboard.ui.templatetags.compilewatch import breakable, heat_class

register = template.Library()


@register.simple_tag
def matrix_rows(matrix: Matrix, query: MatrixQuery, place: SeriesLocation) -> SafeString:
    """Every row; in their own order, a family's line before its first row."""
    address = place.trend_query
    if query.metric != SPEEDUP:
        address += f"&metric={query.metric.key}"
    rows = _rows(matrix, escape(address), by_family=not query.order)
    return mark_safe("".join(rows))  # noqa: S308 - escaped below


def _rows(matrix: Matrix, address: str, *, by_family: bool) -> Iterator[str]:
    family = None
    for row in matrix.rows:
        if row.family != family and by_family:
            means = matrix.means.get(row.family, [""] * len(matrix.configs))
            cells = "".join(f"<td>{escape(mean)}</td>" for mean in means)
            head = f'<th scope="rowgroup">{escape(row.family)}</th>'
            yield f'<tr class="group">{head}{cells}</tr>'
        family = row.family
        yield _row(row, address)


def _row(row: MatrixRow, query: str) -> str:
    address = f"{reverse('series', args=[row.benchmark])}?{query}"
    link = f'<a class="name" href="{address}">{breakable(row.benchmark)}</a>'
    cells = "".join(_cell(cell, address) for cell in row.cells)
    return f'<tr><th scope="row">{link}</th>{cells}</tr>'


def _cell(cell: MatrixCell | None, address: str) -> str:
    if cell is None:
        return '<td><span class="none" title="not measured">·</span></td>'
    css_class = "failed" if cell.case.failed else heat_class(cell.heat)
    about = escape(cell.about)
    address += f"&amp;config={escape(cell.case.config)}"
    if cell.case.config != EAGER:
        address += f"&amp;config={EAGER}"
    return (
        f'<td><a class="{css_class}" title="{about}" href="{address}">'
        f'{escape(cell.text)}<span class="visually-hidden">, {about}</span></a></td>'
    )
