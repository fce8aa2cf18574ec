"""The trend of one benchmark: the page, the figure's data, and the exports."""

import csv
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

import numpy as np
import orjson
from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse, StreamingHttpResponse
from django.shortcuts import get_object_or_404, render

from dashboard import charts, mark_charts
from dashboard.charts import Line
from dashboard.metrics import METRICS, Metric
from dashboard.models import Benchmark, Series
from dashboard.release_charts import release_figure
from dashboard.selectors import marks, rollup, trend, versions
from dashboard.views import parameters, series_marks

_DEFAULT_METRIC = "latency_ms"
_MOST_DEFAULT_CONFIGS = 6
_MOST_TABLE_ROWS = 200
_FIELDS = ("at", "config", "build", "purpose", "status", "value", "low", "high", "job")


@dataclass(frozen=True, slots=True)
class Selection:
    """What the address of a series page asks for."""

    benchmark: Benchmark
    places: list[rollup.Place]
    place: rollup.Place | None
    known: trend.Known
    metric: Metric
    series: list[Series]


def select(request: HttpRequest, name: str) -> Selection:
    """Reads the address. Raises Http404 for an unknown benchmark or place. Two to four queries."""
    benchmark = get_object_or_404(Benchmark, name=name)
    places = rollup.places(benchmark)
    place = parameters.place(request, places)
    known = trend.known_series(benchmark, place) if place else trend.Known([])
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or _default_metric(known)]
    wanted = request.GET.getlist("config")
    chosen = known.choose(metric.key, wanted)
    return Selection(benchmark, places, place, known, metric, chosen if wanted else chosen[:_MOST_DEFAULT_CONFIGS])


def _default_metric(known: trend.Known) -> str:
    measured = known.metrics()
    return (
        _DEFAULT_METRIC
        if _DEFAULT_METRIC in measured
        else next((key for key in METRICS if key in measured), _DEFAULT_METRIC)
    )


@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def show(request: HttpRequest, name: str) -> HttpResponse:
    """The page with the newest data in words and as a table; the figure comes from ``data`` in a second request."""
    selection = select(request, name)
    lines = selection.known.lines(selection.series, newest=_MOST_TABLE_ROWS)
    said = marks.read(selection.benchmark, selection.series, selection.metric)
    marked = series_marks.marked(lines, selection.series, said)
    measured = selection.known.metrics()
    context: dict[str, Any] = {
        "selection": selection,
        "axis": _axis(request),
        "metrics": [metric for metric in METRICS.values() if metric.key in measured],
        "configs": selection.known.configs(selection.metric.key),
        "chosen": {one.config.name for one in selection.series},
        "summaries": [trend.summary(one.valid, selection.metric) for one in marked],
        "said": said,
        "can_show": {one.config.name: said.can_show.get(one.pk) for one in selection.series},
        "names": {one.pk: one.config.name for one in selection.series},
        "invalid": {job: why for jobs in said.invalid.values() for job, why in jobs.items()},
        "table": newest(lines, _MOST_TABLE_ROWS),
        "total": sum(series.count for series in selection.series),
        "most_rows": _MOST_TABLE_ROWS,
        "is_cut": any(series.count > _MOST_TABLE_ROWS for series in selection.series),
    }
    return render(request, "series.html", context)


def data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    selection = select(request, name)
    if _axis(request) and selection.place:
        return figure_response(_by_release(selection, selection.place))
    said = marks.read(selection.benchmark, selection.series, selection.metric)
    marked = series_marks.marked(selection.known.lines(selection.series), selection.series, said)
    figure = charts.series_figure([one.valid for one in marked], selection.metric)
    return figure_response(mark_charts.with_marks(figure, marked, series_marks.remarks(said)))


def _axis(request: HttpRequest) -> str:
    """ "release", or empty: by time."""
    return parameters.one_of(request, "axis", ["release"])


def _by_release(selection: Selection, place: rollup.Place) -> charts.Figure:
    """The chosen configs over every build that the machine measured, on whatever track."""
    lines, builds = versions.releases_of(selection.benchmark, place.machine.pk, selection.metric.key)
    chosen = {one.config.name for one in selection.series}
    return release_figure([line for line in lines if line.name in chosen], selection.metric, builds)


def figure_response(body: Any) -> HttpResponse:
    """numpy arrays straight to JSON; NaN becomes null."""
    return HttpResponse(orjson.dumps(body, option=orjson.OPT_SERIALIZE_NUMPY), content_type="application/json")


def export(request: HttpRequest, name: str, form: str) -> HttpResponse | StreamingHttpResponse:
    """All data of the selection, nothing left out, as a CSV or JSON file."""
    selection = select(request, name)
    lines = selection.known.lines(selection.series)
    file = f"{name}.{selection.metric.key}.{form}"
    headers = {"Content-Disposition": f'attachment; filename="{file}"'}
    if form == "csv":
        return StreamingHttpResponse(_csv(lines), content_type="text/csv; charset=utf-8", headers=headers)
    place = selection.place
    document = {
        "benchmark": name,
        "metric": selection.metric.key,
        "unit": selection.metric.unit,
        "lower_is_better": selection.metric.lower_is_better,
        "machine": place.machine.key if place else None,
        "track": place.track.key if place else None,
        "data": [dict(zip(_FIELDS, row, strict=True)) for row in rows(lines)],
    }
    return HttpResponse(orjson.dumps(document), content_type="application/json", headers=headers)


class _Echo:
    """A file for csv.writer that hands each line back."""

    def write(self, line: str) -> str:
        return line


def _csv(lines: Sequence[Line]) -> Iterator[str]:
    writer = csv.writer(_Echo())
    yield writer.writerow(_FIELDS)
    for row in rows(lines):
        yield writer.writerow(row)


def rows(lines: Iterable[Line]) -> Iterator[tuple[Any, ...]]:
    """Every datum as a row of _FIELDS; a missing number is None, a time ISO 8601 UTC."""
    for line in lines:
        for index in range(len(line.value)):
            yield row(line, index)


def row(line: Line, index: int) -> tuple[Any, ...]:
    """The datum ``index`` of ``line`` as a row of _FIELDS."""
    at = datetime.fromtimestamp(line.at_ms[index] / 1000, UTC).isoformat(timespec="milliseconds")
    numbers = [None if np.isnan(array[index]) else float(array[index]) for array in (line.value, line.low, line.high)]
    return (at, line.name, line.build[index], line.purpose[index], line.status[index], *numbers, line.job[index])


def newest(lines: Sequence[Line], most: int) -> list[dict[str, Any]]:
    """The newest ``most`` data of all lines, newest first, as the table below the chart shows them."""
    order = sorted(
        (
            (int(line.at_ms[index]), number, index)
            for number, line in enumerate(lines)
            for index in range(max(len(line.value) - most, 0), len(line.value))
        ),
        reverse=True,
    )[:most]
    found = []
    for at, number, index in order:
        line = lines[number]
        shown = dict(zip(_FIELDS, row(line, index), strict=True))
        found.append(shown | {"at": datetime.fromtimestamp(at / 1000, UTC)})
    return found
