"""Numbers, times, words and small drawings for templates. Every mark-up here is free of styles and
scripts.
"""

import re
from collections.abc import Mapping
from datetime import UTC, datetime
from html import escape
from typing import Any
from urllib.parse import urlencode

from django import template
from django.core.exceptions import DisallowedHost
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString, mark_safe

from dashboard.language import moments, states, wording
from dashboard.language.durations import duration
from dashboard.language.glossary import anchor, explain
from dashboard.language.metrics import Metric
from dashboard.models import Job, Series
from dashboard.ui import config_looks
from dashboard.ui.original_names import with_original_names

register = template.Library()
register.filter("original", with_original_names)

# word -> (tone, sign). The sign is the second cue beside colour.
_SIGNS = {
    "pass": ("good", "✓"),
    "done": ("good", "✓"),
    "completed": ("good", "✓"),
    "measuring": ("active", "●"),
    "running": ("active", "●"),
    "idle": ("good", "○"),
    "building": ("active", "●"),
    "ready": ("good", "✓"),
    "damaged": ("warn", "!"),
    "queued": ("quiet", "○"),
    "planned": ("quiet", "○"),
    "paused": ("warn", "‖"),
    "blocked": ("warn", "‖"),
    "cancelled": ("quiet", "–"),
    "unsupported": ("quiet", "–"),
    "timeout": ("warn", "!"),
    "timed_out": ("warn", "!"),
    "silent": ("bad", "✕"),
    "late": ("bad", "!"),
    # alerts
    "new": ("warn", "●"),
    "missing_report": ("warn", "!"),
    "suspected": ("warn", "?"),
    "confirming": ("active", "●"),
    "confirmed": ("bad", "!"),
    "acknowledged": ("quiet", "○"),
    "fixed": ("good", "✓"),
    "wontfix": ("quiet", "–"),
    "invalid": ("quiet", "–"),
    "not_reproduced": ("quiet", "–"),
    "inconclusive": ("warn", "?"),
    "flaky": ("warn", "?"),
    "found": ("good", "✓"),
    "recovered": ("good", "✓"),
    "high": ("bad", "▲"),
    "medium": ("warn", "◆"),
    "low": ("quiet", "▽"),
    "regression": ("bad", "↘"),
    "improvement": ("good", "↗"),
    "trade_off": ("warn", "⇄"),
    "neutral": ("quiet", "→"),
    # messages
    "sent": ("good", "✓"),
    "waiting": ("quiet", "○"),
    "sending": ("active", "●"),
    # tokens
    "active": ("good", "✓"),
    "revoked": ("quiet", "–"),
    "expired": ("quiet", "–"),
}

register.filter("anchored", anchor)
register.filter("duration", duration)
register.filter("number", wording.number)
register.filter("grouped", wording.grouped)
register.filter("label", states.label)
register.filter("day", moments.day)
register.filter("month", moments.month)
register.filter("stamp", moments.stamp)


@register.simple_tag
def word(text: str, direction: str = "") -> SafeString:
    """A status or state as people read it, with its sign and colour.

    The title has the code, where it differs, and what the glossary says of it.
    direction: of the change whose state it is: it is good that an improvement is confirmed.
    """
    tone, sign = _SIGNS.get(text, ("bad", "✕"))
    if (text, direction) == ("confirmed", "improvement"):
        tone, sign = _SIGNS["pass"]
    shown = states.label(text)
    about = explain(text)
    if shown != text:
        about = f"{text}: {about}".rstrip(": ")
    attribute = format_html(' title="{}"', about) if about else ""
    return format_html(
        '<span class="word {}"{}><span aria-hidden="true">{}</span> {}</span>',
        tone,
        attribute,
        sign,
        shown,
    )


@register.filter
def file_size(count: int) -> str:
    """Bytes in powers of 1000, as the workers report their disks: 271000000000 -> "271.0 GB".

    Django's filesizeformat writes GB for 1024³ bytes.
    """
    power = min((len(str(count)) - 1) // 3, 4)
    unit = ("bytes", "kB", "MB", "GB", "TB")[power]
    return f"{wording.grouped(count / 1000**power, min(power, 1))} {unit}"


@register.filter
def act_label(state: str) -> str:
    """Name the act of moving an alert to ``state``: the label of the button."""
    return states.ACTS.get(state, state)


@register.filter
def of(mapping: Mapping[Any, Any], key: Any) -> Any:
    """The value of a key; None where there is none."""
    return mapping.get(key)


@register.simple_tag
def one_in(share: float) -> str:
    """A small share as people say it: 0.001 -> "1 in 1,000"."""
    return f"1 in {wording.whole(1 / share)}" if share > 0 else "none"


@register.simple_tag
def term(key: str, label: str = "") -> SafeString:
    """A word of the glossary: a link to it, explained on hover and focus
    (static/compilewatch/site.js).
    """
    about = explain(key)
    if not about:
        raise template.TemplateSyntaxError(
            f"The glossary does not know {key!r}: add it to dashboard/language/glossary.py"
        )
    return format_html(
        '<a class="term" href="{}#{}" data-about="{}">{}</a>',
        reverse("glossary"),
        anchor(key),
        about,
        label or key,
    )


@register.simple_tag
def quantity(
    metric: Metric | str, value: float | None, low: float | None = None, high: float | None = None
) -> str:
    """A value of a metric with its unit and the digits that its interval supports."""
    return wording.quantity(
        wording.metric_of(metric) if isinstance(metric, str) else metric, value, low, high
    )


@register.simple_tag
def interval(metric: Metric | str, low: float | None, high: float | None) -> str:
    """The ends of an interval, the unit once."""
    return wording.interval(
        wording.metric_of(metric) if isinstance(metric, str) else metric, low, high
    )


_MAYBE = "Not shown to differ: two processes, or two days, may differ as much."


@register.simple_tag
def changed(change: wording.ValueChange | None) -> SafeString | str:
    """A change in words, coloured by whether it is good; grey with a ? where it is not shown."""
    if change is None:
        return "–"
    if change.tone == "unknown":
        return format_html('<span class="change none" title="{}">? {}</span>', _MAYBE, change.text)
    return format_html('<span class="change {}">{}</span>', change.tone, change.text)


@register.simple_tag
def when(at: datetime | None, form: str = "") -> SafeString | str:
    """A time that the browser shows in the viewer's zone; without scripts, UTC.

    form: "exact" for date and time also of what was lately, "relative" for "in 30 days" also of
        what is far away; else "2 hours ago" of the last days and the next.
    """
    if at is None:
        return "–"
    utc = at.astimezone(UTC)
    return format_html(
        '<time datetime="{}"{}>{}</time>',
        utc.isoformat(timespec="seconds"),
        mark_safe(f" data-{form}") if form else "",  # noqa: S308 - a template's constant
        moments.stamp(utc),
    )


@register.filter
def moment(at: datetime | None) -> str:
    """A time as addresses have it: UTC, to the second; empty for none."""
    return at.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%S") if at else ""


@register.filter
def heat_class(step: int) -> str:
    """−4 … 4 -> the class of its colour."""
    return f"heat-{'p' if step > 0 else 'n'}{abs(step)}" if step else "heat-0"


@register.filter
def breakable(name: str) -> SafeString:
    """A name as people know it, that may be broken after dots and underscores and before "+" and
    "~", but in no number.
    """
    known = escape(with_original_names(str(name)))
    broken = re.sub(r"(?<=[._])(?=[^\d._])|(?<=.)(?=[+~])", "<wbr>", known)
    return mark_safe(broken)  # noqa: S308 - escaped here


@register.filter
def took(job: Job) -> float | None:
    """Seconds from the claim of a job's last attempt to its end, or until now."""
    return (
        ((job.finished_at or timezone.now()) - job.claimed_at).total_seconds()
        if job.claimed_at
        else None
    )


_DASH_ARRAYS = {
    "solid": "none",
    "dash": "8 4",
    "dot": "2 3",
    "dashdot": "8 3 2 3",
    "longdash": "13 4",
    "longdashdot": "13 3 2 3",
}


@register.simple_tag
def swatch(position: int, slot: int | None = None) -> SafeString:
    """Draw the config at ``position`` as it looks in a chart: its dash, and its own colour or that
    which the figure gives it (`config_looks.slots`).
    """
    return format_html(
        '<svg class="swatch" viewBox="0 0 32 8" aria-hidden="true" focusable="false">'
        '<line class="slot-{}" x1="0" y1="4" x2="32" y2="4" stroke-dasharray="{}"/></svg>',
        position % config_looks.SLOTS if slot is None else slot,
        _DASH_ARRAYS[config_looks.dash(position)],
    )


_LEAST_BAR = 0.4  # so that what is there is seen


@register.simple_tag
def bar(share: float, offset: float = 0) -> SafeString:
    """A bar, 0 … 100 of its cell, from ``offset`` on, as SVG: its length needs no style attribute.
    The text beside it says the same.
    """
    return format_html(
        '<svg class="bar" viewBox="0 0 100 10" preserveAspectRatio="none" aria-hidden="true" '
        'focusable="false">'
        '<rect x="{}" width="{}" height="10"/></svg>',
        offset,
        max(share, _LEAST_BAR) if share else 0,
    )


@register.filter(is_safe=True)
def oneline(text: str) -> str:
    """Text on one line, for attributes that a template writes over several."""
    return " ".join(text.split())


@register.simple_tag
def address(name: str, *args: Any, query: str = "", **parameters: Any) -> str:
    """The address of a page with what it should show; parameters without a value are left out.

    query: parameters that are an address's part already. A list gives its parameter once for each.
    """
    given = {key: value for key, value in parameters.items() if value not in (None, "")}
    shown = "&".join(part for part in (query, urlencode(given, doseq=True)) if part)
    page = reverse(name, args=args)
    return f"{page}?{shown}" if shown else page


@register.simple_tag
def series_address(series: Series) -> str:
    """The page of one series: its benchmark with its machine, track, metric and config chosen."""
    return address(
        "series",
        series.benchmark.name,
        machine=series.machine.key,
        track=series.track.key,
        metric=series.metric,
        config=series.config.name,
    )


@register.simple_tag
def current(page: str, first: str, *others: str) -> SafeString:
    """Marks the link to the section that the page `page` belongs to; `first` is the link's own."""
    if page == first:
        return mark_safe(' aria-current="page"')
    return mark_safe(' aria-current="true"' if page in others else "")  # noqa: S308 - constants


@register.simple_tag(takes_context=True)
def absolute(context: dict[str, Any], path: str = "") -> str:
    """The full address of this page or of ``path``, for link previews; empty on the page of a
    server error, and on that of a request to a host that is not ours.
    """
    request = context.get("request")
    if request is None:
        return ""
    try:
        return str(request.build_absolute_uri(path or request.get_full_path()))
    except DisallowedHost:
        return ""
