"""The rows of the matrix. Made here and not in the template, which would take longer for thousands
of cells.
"""

from collections.abc import Iterator
from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe

from dashboard.language.metrics import EAGER
from dashboard.trends.selectors.matrix import SPEEDUP, Cell, Matrix, MatrixQuery, MatrixRow
from dashboard.ui.locations import SeriesLocation
from dashboard.ui.templatetags.compilewatch import breakable, heat_class

register = template.Library()


@register.simple_tag
def matrix_rows(matrix: Matrix, asked: MatrixQuery, place: SeriesLocation) -> SafeString:
    """Every row; before the first one of a family, where rows are in their own order, the family's
    line.
    """
    query = escape(
        place.trend_query + ("" if asked.metric == SPEEDUP else f"&metric={asked.metric.key}")
    )
    return mark_safe("".join(_rows(matrix, asked, query)))  # noqa: S308 - escaped below


def _rows(matrix: Matrix, asked: MatrixQuery, query: str) -> Iterator[str]:
    family = None
    for row in matrix.rows:
        if row.family != family and not asked.order:
            yield _family(row.family, matrix)
        family = row.family
        yield _row(row, query)


def _family(family: str, matrix: Matrix) -> str:
    means = matrix.means.get(family, [""] * len(matrix.configs))
    cells = "".join(f"<td>{escape(mean)}</td>" for mean in means)
    return f'<tr class="group"><th scope="rowgroup">{escape(family)}</th>{cells}</tr>'


def _row(row: MatrixRow, query: str) -> str:
    address = f"{reverse('series', args=[row.benchmark])}?{query}"
    cells = "".join(_cell(cell, address) for cell in row.cells)
    return (
        '<tr><th scope="row"><a class="name" '
        f'href="{address}">{breakable(row.benchmark)}</a></th>{cells}</tr>'
    )


def _cell(cell: Cell | None, address: str) -> str:
    if cell is None:
        return '<td><span class="none" title="not measured">·</span></td>'
    look = "failed" if cell.case.failed else heat_class(cell.heat)
    config, about = escape(cell.case.config), escape(cell.about)
    control = "" if cell.case.config == EAGER else f"&amp;config={EAGER}"
    return (
        f'<td><a class="{look}" title="{about}" href="{address}&amp;config={config}{control}">'
        f'{escape(cell.text)}<span class="visually-hidden">, {about}</span></a></td>'
    )
