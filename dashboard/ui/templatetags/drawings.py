"""Small drawings that stand in tables, the same on every page: an interval, a spark line, bars."""

import math
from collections.abc import Sequence

from django import template
from django.utils.html import format_html
from django.utils.safestring import SafeString

register = template.Library()

LINEAR_TO, FARTHEST = 2.0, 50.0  # percent
_WIDTH, _HEIGHT, _EDGE = 100, 24, 3
_LEAST_REACH = 1.1  # of a spark line, so that noise looks like noise


def on_axis(percent: float) -> float:
    """Place a change between −1 and 1: by its size to 2%, then by its logarithm to 50%."""
    size = min(abs(percent), FARTHEST) / LINEAR_TO
    if size > 1:
        size = 1 + math.log(size)
    return math.copysign(size / (1 + math.log(FARTHEST / LINEAR_TO)), percent)


def interval(low: float, high: float, middle: float | None = None, kind: str = "") -> SafeString:
    """Draw an interval of percent on the axis that all share; the text next to it says it. With no
    end it takes the whole axis, faintly.
    """
    if not math.isfinite(high - low):
        low, high, kind = -FARTHEST, FARTHEST, f"{kind} unknown"
    start, end = (50 + 50 * on_axis(percent) for percent in (low, high))
    mark = SafeString()
    if middle is not None:
        mark = format_html(
            '<path class="middle" d="M{} 1V11"/>', f"{50 + 50 * on_axis(middle):.1f}"
        )
    return format_html(
        '<svg class="lies {}" viewBox="0 0 100 12" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><path class="zero" d="M50 0V12"/>'
        '<path class="span" d="M{} 6H{}"/>{}</svg>',
        kind.strip(),
        f"{start:.1f}",
        f"{max(end, start + 1.5):.1f}",
        mark,
    )


@register.simple_tag
def scale_ends() -> SafeString:
    """The ends and the middle of the axis of intervals, over a column of them."""
    return format_html(
        '<span class="scale-ends" aria-hidden="true"><span>−{0}%</span><span>0</span>'
        "<span>+{0}%</span></span>",
        int(FARTHEST),
    )


@register.simple_tag
def spark(levels: Sequence[float | None]) -> SafeString | str:
    """Draw levels, one after the other, as a line that breaks where one is missing; empty of one
    level. The number next to it is the last.
    """
    values = [level for level in levels if level]
    if len(values) < 2:
        return ""
    middle = math.sqrt(min(values) * max(values))
    reach = max(math.sqrt(max(values) / min(values)), _LEAST_REACH)
    path, x, y, is_drawn = "", 0.0, 0.0, False
    for place, level in enumerate(levels):
        if level:
            x = _EDGE + (_WIDTH - 2 * _EDGE) * place / (len(levels) - 1)
            share = math.log(level / middle) / math.log(reach)
            y = _HEIGHT / 2 - (_HEIGHT / 2 - _EDGE) * share
            path += f"{'L' if is_drawn else 'M'}{x:.1f} {y:.1f}"
        is_drawn = bool(level)
    return format_html(
        '<svg class="spark" viewBox="0 0 {} {}" aria-hidden="true" focusable="false">'
        '<path d="{}"/><circle cx="{}" cy="{}" r="2.6"/></svg>',
        _WIDTH,
        _HEIGHT,
        path,
        f"{x:.1f}",
        f"{y:.1f}",
    )


@register.simple_tag
def cost_bars(share: float) -> SafeString:
    """Draw the old level over the new one, what it takes more in red. share: new over old."""
    unit = 100 / max(share, 1)
    return format_html(
        '<svg class="cost" viewBox="0 0 100 9" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false"><rect width="{0}" height="4"/><rect y="5" width="{1}" height="4"/>'
        '<rect class="more" x="{0}" y="5" width="{2}" height="4"/></svg>',
        f"{unit:.1f}",
        f"{unit * min(share, 1):.1f}",
        f"{unit * max(share - 1, 0):.1f}",
    )
