"""The data of a series page: the figure of the trend, that of its controls, and the exports."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from dashboard.alerts.selectors import controls, environment_moves
from dashboard.language.metrics import Metric
from dashboard.results.core import mark_charts, sample_charts
from dashboard.results.selectors import jobs
from dashboard.results.selectors.trend import Window
from dashboard.trends.core.release_charts import release_figure
from dashboard.trends.pages import series_marks
from dashboard.trends.pages.series_selection import Look, Selection, look, select
from dashboard.trends.selectors import marks, releases
from dashboard.ui import charts, locations, series_scales
from dashboard.ui.charts import ChartLine, Figure
from dashboard.ui.pages.figures import figure_response

FIELDS = ("at", "config", "build", "purpose", "status", "value", "low", "high", "job")
_LOW_LEGEND = -0.34  # of the height: below the labels of a low chart's axis


def data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    selection = select(request, name)
    asked = look(request, selection.metric)
    if asked.axis and selection.place:
        return figure_response(_scaled(_by_release(selection, selection.place), asked))
    return figure_response(_by_time(selection, asked))


def _by_time(selection: Selection, asked: Look) -> Figure:
    said = marks.read(selection.benchmark, selection.series, selection.metric)
    lines = selection.known.lines(selection.series, within=selection.within)
    marked = series_marks.marked(lines, selection.series, said)
    metric = selection.metric
    if asked.scale == "relative":
        marked = [replace(one, line=series_scales.relative(one.valid)) for one in marked]
        metric = series_scales.relative_metric(metric)
    figure = charts.series_figure([one.valid for one in marked], metric)
    if asked.samples and asked.scale != "relative":
        figure["data"] += _samples(lines, metric)
    figure = mark_charts.with_marks(
        figure, marked, series_marks.remarks(said), environment_moves.moves(lines)
    )
    figure["layout"]["showlegend"] = not asked.apart  # a chart of one config has its name above
    return _scaled(_zoomed(figure, selection.within), asked)


def _samples(lines: Sequence[ChartLine], metric: Metric) -> list[dict[str, Any]]:
    """The raw samples of the newest jobs, under the lines."""
    arm = "eager" if metric.key == "eager_latency_ms" else ""
    found = jobs.raw_samples(lines, arm)
    return [trace for line in lines for trace in sample_charts.scatter(line, found)]


def _zoomed(figure: Figure, within: Window) -> Figure:
    """The time axis shows the stretch that was asked for; the axis of values fits what lies in
    it.
    """
    layout = figure["layout"]
    layout["yaxis"] = {**layout["yaxis"], "fixedrange": True}
    if within.start and within.end:
        ends = [int(moment.timestamp() * 1000) for moment in (within.start, within.end)]
        layout["xaxis"] = {**layout["xaxis"], "range": ends}
    return figure


def _scaled(figure: Figure, asked: Look) -> Figure:
    return series_scales.logarithmic(figure) if asked.scale == "log" else figure


def _by_release(selection: Selection, place: locations.SeriesLocation) -> Figure:
    """The chosen configs over every build that the machine measured, on whatever track."""
    lines, builds = releases.releases_of(
        selection.benchmark, place.machine.pk, selection.metric.key
    )
    chosen = {one.config.name for one in selection.series}
    return release_figure([line for line in lines if line.name in chosen], selection.metric, builds)


def control_data(request: HttpRequest, name: str) -> HttpResponse:
    """What should stay where it is: the eager control of each config, and the same cases on pinned
    tracks.
    """
    selection = select(request, name)
    found = [
        series_scales.relative(line) for line in controls.lines(selection.series, selection.within)
    ]
    figure = charts.series_figure(found, series_scales.relative_metric(selection.metric))
    figure["layout"]["yaxis"]["title"] = {"text": "change, %"}
    figure["layout"]["legend"]["y"] = _LOW_LEGEND
    return figure_response(_zoomed(figure, selection.within))


def export(request: HttpRequest, name: str, form: str) -> HttpResponse | StreamingHttpResponse:
    """All data of the selection, nothing left out, as a CSV or JSON file."""
    selection = select(request, name)
    lines = selection.known.lines(selection.series, within=selection.within)
    file = f"{name}.{selection.metric.key}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    if form == "csv":
        return StreamingHttpResponse(
            _csv(lines), content_type="text/csv; charset=utf-8", headers=headers
        )
    place = selection.place
    document = {
        "benchmark": name,
        "metric": selection.metric.key,
        "unit": selection.metric.unit,
        "lower_is_better": selection.metric.lower_is_better,
        "machine": place.machine.key if place else None,
        "track": place.track.key if place else None,
        "data": [dict(zip(FIELDS, row, strict=True)) for row in rows(lines)],
    }
    return HttpResponse(orjson.dumps(document), content_type="application/json", headers=headers)


class _Echo:
    """A file for csv.writer that hands each line back."""

    def write(self, line: str) -> str:
        return line


def _csv(lines: Sequence[ChartLine]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(FIELDS)
    for row in rows(lines):
        yield writer.writerow(row)


def rows(lines: Iterable[ChartLine]) -> Iterator[tuple[Any, ...]]:
    """Every datum as a row of FIELDS; a missing number is None, a time ISO 8601 UTC."""
    for line in lines:
        for index in range(len(line.value)):
            yield row(line, index)


def row(line: ChartLine, index: int) -> tuple[Any, ...]:
    """The datum ``index`` of ``line`` as a row of FIELDS."""
    at = datetime.fromtimestamp(line.at_ms[index] / 1000, UTC).isoformat(timespec="milliseconds")
    numbers = [
        None if np.isnan(array[index]) else float(array[index])
        for array in (line.value, line.low, line.high)
    ]
    return (
        at,
        line.name,
        line.build[index],
        line.purpose[index],
        line.status[index],
        *numbers,
        line.job[index],
    )
