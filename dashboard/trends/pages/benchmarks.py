"""Benchmarks, each in a line or with all configs, of the newest results or one build, against any
base.
"""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.language.metrics import METRICS
from dashboard.models import Status
from dashboard.results.selectors import rollup
from dashboard.trends.core.heat import change_steps
from dashboard.trends.selectors.benchmark_lines import line_columns, line_families
from dashboard.trends.selectors.benchmarks import (
    EXPORT_FIELDS,
    FILTERS,
    BenchmarksPage,
    BenchmarksParameters,
    benchmarks_page,
    export_rows,
)
from dashboard.trends.selectors.matrix import ORDERS
from dashboard.ui.locations import offered
from dashboard.ui.pages import parameters
from dashboard.ui.pages.exports import table_file
from dashboard.ui.pages.without_data import offers_what_there_is

# What the form folds away, unless the address sets one of them
_FURTHER = ("build", "base", "family", "mode", "dtype", "size", "status", "sort")


def _parameters(request: HttpRequest) -> BenchmarksParameters:
    return BenchmarksParameters(
        metric=request.GET.get("metric", ""),
        build=request.GET.get("build", ""),
        base=request.GET.get("base", ""),
        status=parameters.one_of(request, "status", ["failed", *Status.values]),
        order=request.GET.get("sort", ""),
        filters={name: request.GET.get(name, "") for name in FILTERS},
    )


@offers_what_there_is
def show(request: HttpRequest) -> HttpResponse:
    locations = rollup.series_locations()
    place = parameters.opening_place(request, locations)
    places = offered(locations, place)
    context: dict[str, Any] = {"places": places, "place": place}
    if place:
        page = benchmarks_page(place, _parameters(request))
        context |= {"page": page, "matrix": page.matrix, **_form(request, page)}
        context["other_tracks"] = [
            other.track.key
            for other in places
            if other.machine == place.machine and other.track != place.track
        ]
        context["has_all_configs"] = request.GET.get("configs") == "all"
        columns = page.matrix.configs
        if not context["has_all_configs"]:
            columns = line_columns(page.matrix, page.query)
            context |= {"columns": columns, **_lines(request, page)}
        context["heads"] = [(config, *_sorting(config, page)) for config in columns]
    return render(request, "trends/benchmarks.html", context)


def _form(request: HttpRequest, page: BenchmarksPage) -> dict[str, Any]:
    """Collect what the form offers, and whether the address sets what it folds away."""
    filters = {name: (name, page.choices[name], page.chosen[name]) for name in FILTERS}
    return {
        "model_filter": filters.pop("model"),
        "filters": list(filters.values()),
        "has_filters": any(request.GET.get(name) for name in _FURTHER),
        "metrics": [
            metric
            for metric in METRICS.values()
            if metric.key in page.metrics and metric.aggregate != "share"
        ],
        "statuses": Status.values,
        "orders": ORDERS.items(),
        "steps": change_steps(page.query.metric),
        # What the address names and was not measured
        "missing": [
            name for name in ("build", "base") if request.GET.get(name) and not getattr(page, name)
        ],
    }


def _lines(request: HttpRequest, page: BenchmarksPage) -> dict[str, Any]:
    """The short table: its lines, and the addresses that open and close each."""
    opened = request.GET.getlist("open")
    toggles = {}
    for row in page.matrix.rows:
        query = request.GET.copy()
        query.setlist("open", [name for name in opened if name != row.benchmark])
        if row.benchmark not in opened:
            query.appendlist("open", row.benchmark)
        toggles[row.benchmark] = f"?{query.urlencode()}"
    return {
        "families": line_families(page.matrix, page.query, opened),
        "toggles": toggles,
    }


def _sorting(config: str, page: BenchmarksPage) -> tuple[str, str]:
    """(aria-sort, the order after a click on the column's head): best, worst, as registered."""
    if page.query.order == config:
        return "descending", f"-{config}"
    if page.query.order == f"-{config}":
        return "ascending", ""
    return "none", config


def export(request: HttpRequest, form: str) -> HttpResponse:
    """Every case that fits the filters, nothing rounded, as CSV or JSON."""
    place = parameters.opening_place(request, rollup.series_locations())
    if place is None:
        return table_file("benchmarks", form, EXPORT_FIELDS, [])
    rows = export_rows(benchmarks_page(place, _parameters(request)))
    return table_file(
        f"benchmarks-{place.machine.key}-{place.track.key}", form, EXPORT_FIELDS, rows
    )
