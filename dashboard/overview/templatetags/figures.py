"""How the overview shows a figure of a family: its value, and a small drawing of its month."""

from collections.abc import Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

from dashboard.language import wording
from dashboard.overview.core.summary import FamilyFigure, span

register = template.Library()

_WIDTH, _HEIGHT, _EDGE = 100, 24, 3


@register.simple_tag
def figure_value(figure: FamilyFigure) -> str:
    """The value with its unit: "1.31×", "98.4 %"."""
    if figure.is_share and figure.value is not None:
        return f"{100 * figure.value:.3g} %"
    return wording.quantity(figure.metric, figure.value)


@register.simple_tag
def spark(figure: FamilyFigure) -> SafeString | str:
    """The month as a small line, next to the same in words; empty without two points."""
    values = figure.history
    if not values:
        return ""
    points = _points(values, *span(values, figure.metric))
    line = " ".join(f"{x},{y}" for x, y in points)
    x, y = points[-1]
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" role="img" aria-label="{}" focusable="false">'
        '<polyline points="{}"/><circle cx="{}" cy="{}" r="2.6"/></svg>',
        _WIDTH,
        _HEIGHT,
        f"{figure.metric.label} over {len(values) - 1} days",
        line,
        x,
        y,
    )


def _points(values: Sequence[float], low: float, high: float) -> list[tuple[float, float]]:
    """Where each value lies in the drawing; larger ones higher."""
    step = (_WIDTH - 2 * _EDGE) / (len(values) - 1)
    height = _HEIGHT - 2 * _EDGE
    points: list[tuple[float, float]] = []
    for number, value in enumerate(values):
        x = _EDGE + step * number
        y = _EDGE + height * (high - value) / (high - low)
        points.append((round(x, 1), round(y, 1)))
    return points
