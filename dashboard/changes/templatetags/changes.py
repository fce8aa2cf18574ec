"""Drawings and addresses of the page of a change. Free of styles and scripts, like all mark-up of
the site; lengths are percentages, so that nothing needs a style.
"""

from collections.abc import Sequence
from typing import Any

from django import template
from django.urls import reverse
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dashboard.changes.core.headline import Headline, amount_text
from dashboard.changes.core.marks import BuildMarks, PairMark
from dashboard.changes.core.side_by_side import CodeRow
from dashboard.changes.core.waterfall import Step
from dashboard.comparisons.core.tables import ComparisonRow
from dashboard.judgement.changes import direction
from dashboard.judgement.words import SIGNS
from dashboard.language import wording
from dashboard.language.metrics import Metric
from dashboard.ui.templatetags.compilewatch import address

register = template.Library()
_COMPARE = ("base", "new", "machine", "new_machine", "track", "new_track", "config", "new_config")


@register.simple_tag
def verdict_sign(headline: Headline) -> str:
    return SIGNS[headline.verdict]


@register.simple_tag
def levels(metric: Metric, both: tuple[float, float]) -> str:
    """ "47.7 → 70.4 ms"."""
    return wording.levels(metric, *both).removeprefix("from ").replace(" to ", " → ", 1)


@register.simple_tag
def step_amount(unit: Metric, step: Step, first: Step) -> str:
    """ "45.8 ms" of a level, "+15.3 ms" of a part, as precise as the first level."""
    sign = "" if step.is_level else "+" if step.amount > 0 else "−"
    return f"{sign}{amount_text(unit, abs(step.amount), first.amount)}"


@register.simple_tag
def step_bar(step: Step, metric: Metric, is_cut: bool) -> SafeString:
    """The bar; of a level whose axis is cut with a gap near its beginning."""
    kind = "level" if step.is_level else _tone(step, metric)
    gap = mark_safe('<rect class="gap" x="2.2%" y="0" width="0.6%" height="20"/>')
    return format_html(
        '<svg class="step {}" aria-hidden="true" focusable="false">'
        '<rect x="{}%" y="2" width="{}%" height="16"/>{}</svg>',
        kind,
        f"{step.x:.2f}",
        f"{step.width:.2f}",
        gap if step.is_level and is_cut else "",
    )


def _tone(step: Step, metric: Metric) -> str:
    """Of a throughput more milliseconds are worse, too: parts are of what a step takes."""
    is_part_of_time = not metric.lower_is_better
    return direction(metric, -step.amount if is_part_of_time else step.amount)


@register.simple_tag
def mark_key(side: str) -> SafeString:
    return format_html(
        '<svg class="mark-key" aria-hidden="true" focusable="false">'
        '<circle class="{}" cx="50%" cy="50%" r="4.5"/></svg>',
        side,
    )


@register.simple_tag
def pair_mark(pair: PairMark, metric: Metric) -> SafeString:
    """A pair as two circles with a line between them, in the colour of what it says."""
    verdict = direction(metric, pair.percent or 0.0)
    return format_html(
        '<svg class="pair {}" aria-hidden="true" focusable="false">'
        '<line x1="{}%" x2="{}%" y1="10" y2="10"/>'
        '<circle class="base" cx="{}%" cy="10" r="4.5"/>'
        '<circle class="new" cx="{}%" cy="10" r="4.5"/></svg>',
        verdict,
        pair.base,
        pair.new,
        pair.base,
        pair.new,
    )


@register.simple_tag
def pair_percent(pair: PairMark) -> str:
    return "" if pair.percent is None else f"{wording.signed(pair.percent)}%"


@register.simple_tag
def strip(build: BuildMarks) -> SafeString:
    """Each process of a build as a tick."""
    ticks = format_html_join(
        "",
        '<line x1="{}%" x2="{}%" y1="3" y2="17"/>',
        ((place, place) for place in build.places),
    )
    return format_html('<svg class="strip" aria-hidden="true" focusable="false">{}</svg>', ticks)


@register.simple_tag
def code_rows(rows: Sequence[CodeRow]) -> SafeString:
    """Lines of both sides, those that differ marked; a template's loop takes five times as long."""
    places = '<tr><td colspan="2" class="place">{}</td></tr>'
    both = '<tr><td class="{}">{}</td><td class="{}">{}</td></tr>'
    drawn = []
    for row in rows:
        if row.kind == "place":
            drawn.append(format_html(places, row.before))
            continue
        is_changed = row.kind == "changed"
        old = "removed" if is_changed and row.before else ""
        new = "added" if is_changed and row.after else ""
        drawn.append(format_html(both, old, row.before, new, row.after))
    return SafeString("".join(drawn))


@register.simple_tag
def case_query(row: ComparisonRow) -> str:
    """The value of `case` in an address."""
    return f"{row.case.benchmark}/{row.case.config}"


@register.simple_tag(takes_context=True)
def compare_address(context: dict[str, Any]) -> str:
    """The comparison that a change belongs to."""
    request = context["request"]
    if comparison := request.GET.get("comparison"):
        return reverse("comparison", args=[comparison])
    return address("compare", **{name: request.GET.get(name) for name in _COMPARE})


@register.simple_tag(takes_context=True)
def report_address(context: dict[str, Any]) -> str:
    """The zip of the change that the page shows."""
    request, group, main = context["request"], context.get("group"), context.get("main")
    if group and main:
        return f"{reverse('alert_report', args=[group.pk])}?alert={main.alert.pk}"
    return address("change_report", query=request.GET.urlencode())
