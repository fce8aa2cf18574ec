"""How the overview shows a figure of a family: its value, and a small drawing of its month."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.language import wording
from dashboard.overview.core.change_drawing import HEIGHT, WIDTH, ChangeDrawing, DrawnLevel, Mark
from dashboard.overview.core.summary import FamilyFigure, span

register = template.Library()

_WIDTH, _HEIGHT, _EDGE = 100, 24, 3


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
