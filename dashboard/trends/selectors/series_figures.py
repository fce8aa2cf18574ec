"""The figures of a series page: the trend by time or by release, and its controls."""

from dataclasses import replace
from typing import Any

from dashboard.alerts.selectors import controls, environment_moves
from dashboard.results.core import mark_charts, sample_charts
from dashboard.results.selectors import jobs
from dashboard.results.selectors.trend import Window
from dashboard.trends.core.release_charts import release_figure
from dashboard.trends.selectors.marks import marked_lines, read_marks, remarks_on_chart
from dashboard.trends.selectors.releases import releases_of
from dashboard.trends.selectors.series_selection import ChartOptions, SeriesSelection
from dashboard.ui import series_scales
from dashboard.ui.axes import milliseconds
from dashboard.ui.charts import ChartLine, Figure
from dashboard.ui.interval_clipping import clipped_figure
from dashboard.ui.locations import SeriesLocation

_LOW_LEGEND = -0.34  # of the height: below the labels of a low chart's axis


def trend_figure(selection: SeriesSelection, options: ChartOptions) -> Figure:
    """The trend as the page draws it."""
    if options.axis and selection.place:
        figure = _by_release(selection, selection.place)
    else:
        figure = _by_time(selection, options)
    if not options.has_legend:
        figure["layout"]["showlegend"] = False
    if options.scale == "log":
        return series_scales.logarithmic(figure)
    return figure


def _by_release(selection: SeriesSelection, place: SeriesLocation) -> Figure:
    """The chosen configs over every build that the machine measured, on whatever track."""
    metric, configs = selection.metric, selection.configs
    metrics = [part.metric.key for part in selection.parts]
    lines, builds = releases_of(selection.benchmark, place.machine.pk, metrics)
    return release_figure([line for line in lines if line.name in configs], metric, builds)


def _by_time(selection: SeriesSelection, options: ChartOptions) -> Figure:
    marks = read_marks(selection.benchmark, selection.series, selection.metric)
    lines = selection.lines()
    marked = marked_lines(lines, selection.series, marks)
    metric = selection.metric
    is_relative = options.scale == "relative"
    if is_relative:
        marked = [replace(line, line=series_scales.relative(line.valid)) for line in marked]
        metric = series_scales.relative_metric(metric)

    figure = clipped_figure([line.valid for line in marked], metric)
    if options.samples and not is_relative:
        figure["data"] += _samples(lines, metric.key)
    figure = mark_charts.with_marks(
        figure, marked, remarks_on_chart(marks), environment_moves.moves(lines)
    )
    if options.apart:  # its name is above it
        figure["layout"]["showlegend"] = False
    return _zoomed(figure, selection.within)


def _samples(lines: list[ChartLine], metric: str) -> list[dict[str, Any]]:
    """The raw samples of the newest jobs, under the lines."""
    arm = "eager" if metric == "eager_latency_ms" else ""
    samples = jobs.raw_samples(lines, arm)
    traces = []
    for line in lines:
        traces += sample_charts.scatter(line, samples)
    return traces


def control_figure(selection: SeriesSelection) -> Figure:
    """Draw what should stay constant: each config's eager control, and cases on pinned tracks."""
    lines = controls.lines(selection.series, selection.within)
    relative = [series_scales.relative(line) for line in lines]
    figure = clipped_figure(relative, series_scales.relative_metric(selection.metric))
    figure["layout"]["yaxis"]["title"] = {"text": "change, %"}
    figure["layout"]["legend"]["y"] = _LOW_LEGEND
    return _zoomed(figure, selection.within)


def _zoomed(figure: Figure, within: Window) -> Figure:
    """The time axis shows the requested stretch; the axis of values fits what lies in it."""
    layout = figure["layout"]
    layout["yaxis"] = {**layout["yaxis"], "fixedrange": True}
    if within.start and within.end:
        ends = [milliseconds(within.start), milliseconds(within.end)]
        layout["xaxis"] = {**layout["xaxis"], "range": ends}
    return figure
