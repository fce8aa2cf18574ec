"""Figures of a family on the overview: the value, and a small drawing of its month."""

import math

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dashboard.language import wording
from dashboard.overview.core.change_drawing import HEIGHT, WIDTH, ChangeDrawing, DrawnLevel, Mark
from dashboard.overview.core.release_map import MapCell, MapRow, on_axis
from dashboard.overview.core.summary import FamilyFigure, span
from dashboard.overview.selectors.release_map import MapColumn
from dashboard.ui.templatetags.compilewatch import address

register = template.Library()

_WIDTH, _HEIGHT, _EDGE = 100, 24, 3
_MARK_SIGNS = {"start": "▶", "memory": "■", "accuracy": "◆", "failure": "✕"}
_LEAST_REACH = 1.1  # of a trend, so that noise looks like noise


@register.simple_tag
def figure_value(figure: FamilyFigure) -> str:
    """The value with its unit: "1.31×", "98.4%"."""
    if figure.is_share:
        return f"{100 * figure.value:.3g}%"
    return wording.quantity(figure.metric, figure.value)


@register.simple_tag
def spark(figure: FamilyFigure) -> SafeString | str:
    """The month as a small line, next to the same in words; empty without two points."""
    values = figure.history
    if not values:
        return ""
    low, high = span(values, figure.metric)
    points: list[str] = []
    x = y = 0.0
    for number, value in enumerate(values):
        x = round(_EDGE + (_WIDTH - 2 * _EDGE) * number / (len(values) - 1), 1)
        y = round(_EDGE + (_HEIGHT - 2 * _EDGE) * (high - value) / (high - low), 1)
        points.append(f"{x},{y}")
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}" focusable="false">'
        '<polyline points="{}"/><circle cx="{}" cy="{}" r="2.6"/></svg>',
        _WIDTH,
        _HEIGHT,
        f"{figure.metric.label} on {wording.plural(len({day.day for day in figure.days}), 'day')}",
        " ".join(points),
        x,
        y,
    )


@register.simple_tag
def change_drawing(drawing: ChangeDrawing) -> SafeString:
    """Circles before the change, diamonds from it on, and the two levels."""
    return format_html(
        '<svg class="change-drawing" viewBox="0 0 {} {}" role="img" aria-label="{}">'
        '<line class="edge" x1="{}" x2="{}" y1="0" y2="{}"/>{}{}{}</svg>',
        WIDTH,
        HEIGHT,
        f"From {drawing.before.text} to {drawing.after.text}",
        drawing.edge,
        drawing.edge,
        HEIGHT,
        _level(drawing.before, "old"),
        _level(drawing.after, "new"),
        format_html_join("", "{}", ((_mark(mark),) for mark in drawing.marks)),
    )


def _level(level: DrawnLevel, side: str) -> SafeString:
    return format_html(
        '<line class="level {}" x1="{}" x2="{}" y1="{}" y2="{}"/>',
        side,
        level.x,
        level.end,
        level.y,
        level.y,
    )


def _mark(mark: Mark) -> SafeString:
    if mark.is_after:
        return format_html('<path class="new" d="M{} {}l6 6-6 6-6-6z"/>', mark.x, mark.y - 6)
    return format_html('<circle class="old" cx="{}" cy="{}" r="4"/>', mark.x, mark.y)


@register.simple_tag
def map_cell(cell: MapCell | str | None, machine: str) -> SafeString | str:
    """Draw what a build changed, as colour, number or interval, linked to the comparison."""
    if cell is None:
        return mark_safe('<span class="visually-hidden">not measured</span>')
    if not isinstance(cell, MapCell):
        return mark_safe('<span class="cell first" title="nothing before it compares">○</span>')
    group = cell.group
    query = {"base": cell.base, "new": cell.new, "machine": machine}
    kind: str = cell.verdict
    if cell.text:
        kind = f"{kind}-{cell.depth}" if cell.grade == "certain" else f"likely {kind}"
    drawn: SafeString | str = cell.text
    if cell.verdict == "unclear":
        drawn = _interval(cell)
    elif cell.verdict == "same":
        drawn = "·"
    marks = ((mark, verdict, _MARK_SIGNS[mark]) for mark, verdict, _ in cell.marks)
    return format_html(
        '<a class="cell {}" href="{}#models" title="{}" aria-label="{}">{}{}</a>',
        kind,
        address("compare", **query, model=group.name, mode=group.mode),
        cell.about,
        cell.about,
        drawn,
        format_html_join("", '<i class="{} {}" aria-hidden="true">{}</i>', marks),
    )


def _interval(cell: MapCell) -> SafeString:
    """Draw where the change lies: between its ends, or along the whole axis where it has none."""
    low, high, is_known = -1.0, 1.0, False
    if cell.change and cell.change.has_interval:
        is_known = True
        low, high = map(on_axis, cell.change.interval)
    return format_html(
        '<svg class="lies" viewBox="0 0 100 12" aria-hidden="true" focusable="false">'
        '<path class="zero" d="M50 0V12"/><rect{} x="{}" y="2" width="{}" height="8"/></svg>',
        SafeString() if is_known else mark_safe(' class="unknown"'),
        f"{50 + 50 * low:.1f}",
        f"{max(50 * (high - low), 1.5):.1f}",
    )


@register.simple_tag
def map_shares(column: MapColumn) -> SafeString:
    """Draw how many models a build made worse, better or neither, as one bar."""
    width = 100 / max(1, sum(count for _, count in column.counts))
    bars, x = [], 0.0
    for verdict, count in column.counts:
        bars.append((verdict, f"{x:.1f}", f"{count * width - 0.8:.1f}"))
        x += count * width
    return format_html(
        '<svg class="shares" viewBox="0 0 100 5" preserveAspectRatio="none" role="img" '
        'aria-label="{}">{}</svg>',
        ", ".join(f"{count} {verdict}" for verdict, count in column.counts) or "the first",
        format_html_join("", '<rect class="{}" x="{}" y="0" width="{}" height="5"/>', bars),
    )


@register.simple_tag
def map_trend(row: MapRow) -> SafeString | str:
    """The step over the builds as a small line, which breaks where one did not measure it."""
    values = [level for level in row.levels if level is not None]
    if len(values) < 2:
        return ""
    middle = math.sqrt(min(values) * max(values))
    reach = max(math.sqrt(max(values) / min(values)), _LEAST_REACH)
    points = []
    for place, level in enumerate(row.levels):
        if level is not None:
            x = _EDGE + (_WIDTH - 2 * _EDGE) * place / (len(row.levels) - 1)
            share = math.log(level / middle) / math.log(reach)
            y = _HEIGHT / 2 - (_HEIGHT / 2 - _EDGE) * share
            points.append((f"{x:.1f}", f"{y:.1f}"))
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true" focusable="false">'
        '<polyline points="{}"/><circle cx="{}" cy="{}" r="2.6"/></svg>',
        _WIDTH,
        _HEIGHT,
        " ".join(",".join(point) for point in points),
        *points[-1],
    )
