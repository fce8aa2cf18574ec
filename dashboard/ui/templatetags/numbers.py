"""The rows of the table below a trend; in a template they took half of the page's time."""

import math
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from html import escape

from django import template
from django.urls import reverse
from django.utils.safestring import SafeString, mark_safe
from django.utils.text import Truncator

from dashboard.language import wording
from dashboard.language.metrics import Metric
from dashboard.ui.charts import ChartLine
from dashboard.ui.templatetags.compilewatch import when, word

register = template.Library()

Row = tuple[ChartLine, int]  # a line and the place of the datum in it


@register.simple_tag
def number_rows(rows: Sequence[Row], metric: Metric, left_out: Mapping[str, str]) -> SafeString:
    """A table row for each datum. left_out: job -> why a person marked it as invalid."""
    return mark_safe("".join(_rows(rows, metric, left_out)))  # noqa: S308 - escaped below


def _rows(rows: Sequence[Row], metric: Metric, left_out: Mapping[str, str]) -> Iterator[str]:
    statuses = {line.status[index] for line, index in rows}
    words = {status: word(status) for status in statuses}
    for line, index in rows:
        job, config, build = line.job[index], escape(line.name), escape(line.build[index])
        at = datetime.fromtimestamp(line.at_ms[index] / 1000, UTC)
        value = _or_none(line.value[index])
        low, high = _or_none(line.low[index]), _or_none(line.high[index])
        yield (
            f'<tr><td><input type="checkbox" name="job" value="{job}" form="pair"'
            f' aria-label="Choose {config} on {build}, {at:%Y-%m-%d %H:%M}"></td>'
            f'<th scope="row"><a href="{reverse("job", args=[job])}">{when(at)}</a></th>'
            f"<td>{config}</td><td>{build}</td><td>{line.purpose[index]}</td>"
            f"<td>{words[line.status[index]]}{_why(left_out.get(job, ''))}</td>"
            f'<td class="number">{wording.quantity(metric, value, low, high)}</td>'
            f"<td>{wording.interval(metric, low, high)}</td></tr>"
        )


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _why(reason: str) -> str:
    if not reason:
        return ""
    short = escape(Truncator(reason).chars(40))
    return f' <small title="{escape(reason)}">left out: {short}</small>'
