"""How the overview shows a figure of a family: its value, and a small drawing of its month."""

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
        f"{figure.metric.label} over {len(values) - 1} days",
        " ".join(points),
        x,
        y,
    )
