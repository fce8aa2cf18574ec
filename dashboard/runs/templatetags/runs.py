"""Progress of a run, as templates draw it."""

from django import template
from django.utils.html import format_html, format_html_join
from django.utils.safestring import SafeString

from dashboard.language import wording
from dashboard.runs.selectors.runs import JobCounts
from dashboard.runs.selectors.schedules import in_words

register = template.Library()
register.filter(in_words)


@register.simple_tag
def progress(counts: JobCounts) -> SafeString:
    """Jobs of a run by state, as one segmented bar with its text alternative."""
    about = (
        f"{counts.ended} of {wording.plural(counts.total, 'job')} ended, {counts.failed} failed, "
        f"{counts.running} running, {counts.waiting} waiting"
    )
    segments = (
        ("good", counts.passed),
        ("bad", counts.failed),
        ("quiet", counts.cancelled),
        ("active", counts.running),
    )
    placed, x = [], 0
    for tone, width in segments:
        if width:
            placed.append((tone, x, width))
        x += width
    bars = format_html_join("", '<rect class="{}" x="{}" width="{}" height="10"/>', placed)
    return format_html(
        '<svg class="progress" role="img" aria-label="{}" viewBox="0 0 {} 10" '
        'preserveAspectRatio="none">{}</svg>',
        about,
        max(counts.total, 1),
        bars,
    )
