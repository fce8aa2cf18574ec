"""The matrix: benchmarks × configs, of the newest results or one build, against any base."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.language.metrics import METRICS, Metric
from dashboard.models import Status
from dashboard.results.selectors import rollup
from dashboard.trends.core.heat import change_steps
from dashboard.trends.selectors.benchmarks import (
    EXPORT_FIELDS,
    FILTERS,
    BenchmarksPage,
    BenchmarksParameters,
    benchmarks_page,
    export_rows,
)
from dashboard.trends.selectors.matrix import ORDERS
from dashboard.ui.pages import parameters
from dashboard.ui.pages.exports import table_file


def _parameters(request: HttpRequest) -> BenchmarksParameters:
    return BenchmarksParameters(
        metric=request.GET.get("metric", ""),
        build=request.GET.get("build", ""),
        base=request.GET.get("base", ""),
        status=parameters.one_of(request, "status", ["failed", *Status.values]),
        order=request.GET.get("sort", ""),
        filters={name: request.GET.get(name, "") for name in FILTERS},
    )


def show(request: HttpRequest) -> HttpResponse:
    locations = rollup.series_locations()
    place = parameters.place(request, locations)
    context: dict[str, Any] = {"places": locations, "place": place}
    if place:
        page = benchmarks_page(place, _parameters(request))
        context |= {
            "page": page,
            "matrix": page.matrix,
            "heads": [(config, *_sorting(config, page)) for config in page.matrix.configs],
            "filters": [(name, page.choices[name], page.chosen[name]) for name in FILTERS],
            "metrics": _metrics(page),
            "statuses": Status.values,
            "orders": ORDERS.items(),
            "steps": change_steps(page.query.metric),
            "missing": _missing(request, page),
        }
    return render(request, "trends/benchmarks.html", context)


def _sorting(config: str, page: BenchmarksPage) -> tuple[str, str]:
    """(aria-sort, the order after a click on the column's head): best, worst, as registered."""
    if page.query.order == config:
        return "descending", f"-{config}"
    if page.query.order == f"-{config}":
        return "ascending", ""
    return "none", config


def _metrics(page: BenchmarksPage) -> list[Metric]:
    metrics = []
    for metric in METRICS.values():
        if metric.key in page.metrics and metric.aggregate != "share":
            metrics.append(metric)
    return metrics


def _missing(request: HttpRequest, page: BenchmarksPage) -> list[str]:
    """The builds that the address names and that were not measured: "build", "base"."""
    names = ("build", "base")
    return [name for name in names if request.GET.get(name) and not getattr(page, name)]


def export(request: HttpRequest, form: str) -> HttpResponse:
    """Every case that fits the filters, nothing rounded, as CSV or JSON."""
    place = parameters.place(request, rollup.series_locations())
    if place is None:
        return table_file("benchmarks", form, EXPORT_FIELDS, [])
    rows = export_rows(benchmarks_page(place, _parameters(request)))
    return table_file(
        f"benchmarks-{place.machine.key}-{place.track.key}", form, EXPORT_FIELDS, rows
    )
