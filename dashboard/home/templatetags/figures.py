"""Cells of the map of builds, each with its address, and what compiling gains."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe

from dashboard.home.core.change_map import MapCell, MapColumn, MapRow
from dashboard.home.core.needs_you import Need
from dashboard.ui.original_names import with_original_names
from dashboard.ui.templatetags import drawings
from dashboard.ui.templatetags.compilewatch import address

register = template.Library()

_MARK_SIGNS = {"start": "▶", "memory": "■", "accuracy": "◆", "failure": "✕"}


@register.simple_tag
def map_cell(cell: MapCell | str | None, machine: str) -> SafeString | str:
    """Draw what a build changed, as colour, number or interval, linked to the change."""
    if cell is None:
        return mark_safe('<span class="visually-hidden">not measured</span>')
    if not isinstance(cell, MapCell):
        return mark_safe('<span class="cell first" title="nothing before it compares">○</span>')
    kind: str = cell.verdict
    if cell.text:
        kind = f"{kind}-{cell.depth}" if cell.grade == "certain" else f"likely {kind}"
    drawn: SafeString | str = cell.text
    if cell.verdict == "unclear":
        ends = cell.change.interval if cell.change else (-drawings.FARTHEST, drawings.FARTHEST)
        drawn = drawings.interval(*ends)
    elif cell.verdict == "same":
        drawn = "·"
    signs = ((mark.what, mark.verdict, _MARK_SIGNS[mark.what]) for mark in cell.marks)
    marks = format_html_join("", '<i class="{} {}" aria-hidden="true">{}</i>', signs)
    about = with_original_names(cell.about)
    link = _cell_address(cell, machine)
    if not link:
        return format_html(
            '<span class="cell {}" title="{}">{}{}<span class="visually-hidden">{}</span></span>',
            *(kind, about, drawn, marks, about),
        )
    return format_html(
        '<a class="cell {}" href="{}" title="{}" aria-label="{}">{}{}</a>',
        *(kind, link, about, about, drawn, marks),
    )


def _cell_address(cell: MapCell, machine: str) -> str:
    """The alert of a finding, the change between two releases; of failures alone their comparison;
    empty where nothing was found.
    """
    if cell.alert:
        return address("alert", cell.alert)
    if not cell.base:
        return ""
    builds = {"base": cell.base, "new": cell.new, "machine": machine}
    if cell.change:
        metric = cell.change.metric.key
        return address("change", **builds, metric=metric, model=cell.model, mode=cell.mode)
    return f"{address('compare', **builds, model=cell.model, mode=cell.mode)}#models"


@register.simple_tag
def need_address(need: Need, machine: str) -> str:
    if need.alert or need.cell is None:
        return address("alert", need.alert)
    if need.model:
        return _cell_address(need.cell, machine)
    return address("compare", base=need.cell.base, new=need.cell.new, machine=machine)


@register.simple_tag
def interval_key() -> SafeString:
    return drawings.interval(-6, 9)


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
def vs_eager(row: MapRow) -> SafeString | str:
    """The speedup over eager; a better config where one was measured, else not to compile."""
    if row.speedup is None:
        return ""
    advice: SafeString | str = ""
    if row.better:
        config = row.better.removeprefix("inductor_").replace("_", " ")
        advice = format_html('<span class="advice" title="{}">try {}</span>', row.better, config)
    elif row.is_slower_than_eager:
        advice = mark_safe('<span class="advice bad">don&rsquo;t compile</span>')
    kind = "bad" if row.is_slower_than_eager else ""
    return format_html('<span class="{}">{}×</span> {}', kind, f"{row.speedup.value:.1f}", advice)
