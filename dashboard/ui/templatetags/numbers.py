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
from dashboard.language.moments import stamp
from dashboard.ui.charts import ChartLine
from dashboard.ui.templatetags.compilewatch import when, word

register = template.Library()

Row = tuple[ChartLine, int]  # a line and the place of the datum in it
Number = tuple[float, float, float]  # value, low, high; NaN where there is none
Column = tuple[Metric, list[Number]]  # one number for each row

_NONE = "–"


@register.simple_tag
def number_rows(
    rows: Sequence[Row], columns: Sequence[Column], left_out: Mapping[str, str]
) -> SafeString:
    """A table row for each datum, with its value and interval in each column's metric.

    left_out: job -> why a person marked it as invalid.
    """
    return mark_safe("".join(_rows(rows, columns, left_out)))  # noqa: S308 - escaped below


def _rows(
    rows: Sequence[Row], columns: Sequence[Column], left_out: Mapping[str, str]
) -> Iterator[str]:
    statuses = {line.status[index] for line, index in rows}
    words = {status: word(status) for status in statuses}
    cells = [_cells(metric, numbers) for metric, numbers in columns]
    for (line, index), *values in zip(rows, *cells, strict=True):
        job, config, build = line.job[index], escape(line.name), escape(line.build[index])
        at = datetime.fromtimestamp(line.at_ms[index] / 1000, UTC)
        yield (
            f'<tr><td><input type="checkbox" name="job" value="{job}" form="pair"'
            f' aria-label="Choose {config} on {build}, {stamp(at)}"></td>'
            f'<th scope="row"><a href="{reverse("job", args=[job])}">{when(at)}</a></th>'
            f"<td>{config}</td><td>{build}</td><td>{line.purpose[index]}</td>"
            f"<td>{words[line.status[index]]}{_why(left_out.get(job, ''))}</td>"
            f"{''.join(values)}</tr>"
        )


def _cells(metric: Metric, numbers: Sequence[Number]) -> list[str]:
    """Value and interval of each row, with the same decimals down the column."""
    half_widths = [(high - low) / 2 for _, low, high in numbers]
    decimals = wording.column_decimals((value for value, _, _ in numbers), half_widths)
    cells = []
    for number in numbers:
        value, low, high = map(_or_none, number)
        shown = wording.fixed(metric, value, decimals)
        if value is None:
            shown = f'<span title="no {metric.label.lower()} was measured">{_NONE}</span>'
        interval = wording.fixed_interval(metric, low, high, decimals)
        if not interval:
            interval = f'<span title="{_why_no_interval(metric, value)}">{_NONE}</span>'
        cells.append(
            f'<td class="number" data-label="{metric.label.lower()}">{shown}</td>'
            f'<td data-label="interval">{interval}</td>'
        )
    return cells


def _why_no_interval(metric: Metric, value: float | None) -> str:
    if value is None:
        return "no value"
    if wording.is_count(metric):
        return "a count has no interval"
    return "its job reported no interval"


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else float(number)


def _why(reason: str) -> str:
    if not reason:
        return ""
    short = escape(Truncator(reason).chars(40))
    return f' <small title="{escape(reason)}">left out: {short}</small>'
