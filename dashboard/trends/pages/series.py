"""The trend of one benchmark as a page: the newest data in words and as a table. series_data.py has
the figures.
"""

from collections.abc import Sequence
from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.alerts.selectors import controls
from dashboard.language.metrics import METRICS
from dashboard.results.selectors import trend
from dashboard.trends.pages import series_marks
from dashboard.trends.pages.series_selection import SAMPLED, look, select
from dashboard.trends.selectors import marks
from dashboard.ui.charts import ChartLine
from dashboard.ui.series_scales import SCALES

_MOST_READ = 200  # points of each config, for the words
# Of the table, unless more are asked for: rendering them is most of what the page takes
_TABLE_ROWS = 50


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, name: str) -> HttpResponse:
    """The page with the newest data in words and as a table; the figure comes from ``data`` in a
    second request.
    """
    selection = select(request, name)
    lines = selection.known.lines(selection.series, newest=_MOST_READ, within=selection.within)
    said = marks.read(selection.benchmark, selection.series, selection.metric)
    marked = series_marks.marked(lines, selection.series, said)
    measured = selection.known.metrics()
    context: dict[str, Any] = {
        "selection": selection,
        "look": look(request, selection.metric),
        "scales": SCALES,
        "has_samples": selection.metric.key in SAMPLED,
        "controls": controls.series(selection.series),
        "metrics": [metric for metric in METRICS.values() if metric.key in measured],
        "configs": selection.known.configs(selection.metric.key),
        "chosen": {one.config.name for one in selection.series},
        "summaries": [trend.summary(one.valid, selection.metric) for one in marked],
        "said": said,
        "can_show": {one.config.name: said.can_show.get(one.pk) for one in selection.series},
        "names": {one.pk: one.config.name for one in selection.series},
        "invalid": {job: why for jobs in said.invalid.values() for job, why in jobs.items()},
        "table": newest(lines, _MOST_READ if "rows" in request.GET else _TABLE_ROWS),
        "total": sum(series.count for series in selection.series),
        "most_read": _MOST_READ,
        "is_cut": any(series.count > _MOST_READ for series in selection.series),
    }
    return render(request, "trends/series.html", context)


def newest(lines: Sequence[ChartLine], most: int) -> list[tuple[ChartLine, int]]:
    """The newest ``most`` data of all lines, newest first, as (line, place in it)."""
    order = sorted(
        (
            (int(line.at_ms[index]), number, index)
            for number, line in enumerate(lines)
            for index in range(max(len(line.value) - most, 0), len(line.value))
        ),
        reverse=True,
    )[:most]
    return [(lines[number], index) for _, number, index in order]
