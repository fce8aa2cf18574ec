"""The data of a series page: the figure of the trend, that of its controls, and the exports."""

from django.http import HttpRequest, HttpResponse, StreamingHttpResponse

from dashboard.trends.core import series_export
from dashboard.trends.pages.series_selection import chart_options, select
from dashboard.trends.selectors.series_figures import control_figure, trend_figure
from dashboard.ui.pages.exports import attachment, json_file
from dashboard.ui.pages.figures import figure_response


def data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    selection = select(request, name)
    return figure_response(trend_figure(selection, chart_options(request, selection.metric)))


def control_data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure of the controls."""
    return figure_response(control_figure(select(request, name)))


def export(request: HttpRequest, name: str, form: str) -> HttpResponse | StreamingHttpResponse:
    """All data of the selection, nothing left out, as a CSV or JSON file."""
    selection = select(request, name)
    metric, place = selection.metric, selection.place
    lines = selection.lines()
    file = f"{name}.{metric.key}"
    if form == "csv":
        return StreamingHttpResponse(
            series_export.csv_lines(lines),
            content_type="text/csv; charset=utf-8",
            headers=attachment(f"{file}.csv"),
        )
    document = {
        "benchmark": name,
        "original": selection.benchmark.original,
        "metric": metric.key,
        "unit": metric.unit,
        "lower_is_better": metric.lower_is_better,
        "machine": place.machine.key if place else None,
        "track": place.track.key if place else None,
        "data": [
            dict(zip(series_export.FIELDS, row, strict=True)) for row in series_export.rows(lines)
        ],
    }
    return json_file(file, document)
