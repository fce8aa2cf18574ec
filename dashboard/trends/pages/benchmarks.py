"""The matrix: benchmarks × configs, for the newest results or one build, in any metric, against any
base.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.comparisons.selectors import build_cases
from dashboard.comparisons.selectors.versions import MeasuredBuild
from dashboard.language.exports import csv_text
from dashboard.language.metrics import METRICS
from dashboard.models import Status
from dashboard.results.selectors import rollup
from dashboard.results.selectors.rollup import CaseRollup
from dashboard.trends.selectors import matrix
from dashboard.trends.selectors.matrix import Matrix, MatrixQuery
from dashboard.ui.locations import SeriesLocation
from dashboard.ui.pages import parameters
from dashboard.ui.pages.figures import figure_response

_EXPORT_FIELDS = (
    "benchmark",
    "family",
    "mode",
    "dtype",
    "config",
    "metric",
    "unit",
    "build",
    "status",
    "value",
    "low",
    "high",
    "base",
    "base_value",
    "change_percent",
    "job",
)


@dataclass(frozen=True, slots=True)
class Found:
    """What the address shows. build: empty for the newest result of each case, of whatever build.

    cases: those that fit what is chosen. choices: filter -> what cases there are to choose from.
    """

    place: SeriesLocation
    known: list[MeasuredBuild]
    metrics: set[str]
    build: str
    base: str
    asked: MatrixQuery
    cases: list[CaseRollup]
    choices: Mapping[str, list[str]]
    chosen: Mapping[str, str]


def find(request: HttpRequest, place: SeriesLocation) -> Found:
    """What the address names at the place. Two to six queries."""
    known, metrics = build_cases.builds(place), build_cases.metrics(place)
    labels = {one.label: one.build for one in known}
    build, base = (parameters.one_of(request, name, [*labels]) for name in ("build", "base"))
    metric = METRICS[parameters.one_of(request, "metric", [*METRICS]) or "speedup"]
    before = build_cases.read(place, labels[base], [metric.key]) if base else None
    asked = MatrixQuery(
        metric=metric,
        base=None if before is None else {(case.benchmark, case.config): case for case in before},
        status=parameters.one_of(request, "status", ["failed", *Status.values]),
        order=request.GET.get("sort", ""),
    )
    cases = (
        build_cases.read(place, labels[build], asked.read) if build else matrix.read(place, asked)
    )
    choices = {name: list(dict.fromkeys(map(attrgetter(name), cases))) for name in matrix.FILTERS}
    chosen = {name: parameters.one_of(request, name, there) for name, there in choices.items()}
    fitting = [
        case
        for case in cases
        if all(getattr(case, name) == value for name, value in chosen.items() if value)
    ]
    return Found(place, known, metrics, build, base, asked, fitting, choices, chosen)


def show(request: HttpRequest) -> HttpResponse:
    known = rollup.series_locations()
    place = parameters.place(request, known)
    context: dict[str, Any] = {"places": known, "place": place}
    if place:
        found = find(request, place)
        context |= {
            "found": found,
            **_context(request, found, matrix.matrix(found.cases, found.asked)),
        }
    return render(request, "trends/benchmarks.html", context)


def _context(request: HttpRequest, found: Found, table: Matrix) -> dict[str, Any]:
    return {
        "matrix": table,
        "heads": [(config, *_sorting(config, found.asked.order)) for config in table.configs],
        "filters": [(name, found.choices[name], found.chosen[name]) for name in matrix.FILTERS],
        "metrics": [
            metric
            for key, metric in METRICS.items()
            if key in found.metrics and metric.aggregate != "share"
        ],
        "statuses": Status.values,
        "orders": matrix.ORDERS.items(),
        "steps": matrix.change_steps(found.asked.metric),
        "missing": [
            name for name in ("build", "base") if request.GET.get(name) and not getattr(found, name)
        ],
    }


def _sorting(config: str, order: str) -> tuple[str, str]:
    """(aria-sort, the order that a click on the column's head leads to): best first, worst first,
    as registered.
    """
    return {config: ("descending", f"-{config}"), f"-{config}": ("ascending", "")}.get(
        order, ("none", config)
    )


def export(request: HttpRequest, form: str) -> HttpResponse:
    """Every case that fits the filters, nothing rounded, as CSV or JSON."""
    place = parameters.place(request, rollup.series_locations())
    rows = _rows(find(request, place)) if place else []
    name = f"benchmarks-{place.machine.key}-{place.track.key}" if place else "benchmarks"
    headers = {"Content-Disposition": f'attachment; filename="{name}.{form}"'}
    if form == "csv":
        return HttpResponse(
            csv_text(_EXPORT_FIELDS, rows), content_type="text/csv; charset=utf-8", headers=headers
        )
    answer = figure_response([dict(zip(_EXPORT_FIELDS, row, strict=True)) for row in rows])
    answer.headers["Content-Disposition"] = headers["Content-Disposition"]
    return answer


def _rows(found: Found) -> list[Sequence[Any]]:
    table = matrix.matrix(found.cases, found.asked)
    return [_exported(cell, found) for row in table.rows for cell in row.cells if cell]


def _exported(cell: matrix.Cell, found: Found) -> Sequence[Any]:
    """In the order of _EXPORT_FIELDS."""
    case, metric = cell.case, found.asked.metric
    newest = None if case.failed else case.newest.get(metric.key)
    before = found.asked.base.get((case.benchmark, case.config)) if found.asked.base else None
    return (
        case.benchmark,
        case.family,
        case.mode,
        case.dtype,
        case.config,
        metric.key,
        metric.unit,
        found.build or "newest",
        case.status or "pass",
        newest and newest.value,
        newest and newest.low,
        newest and newest.high,
        found.base,
        before and before.value(metric.key),
        cell.change and cell.change.percent,
        case.latest.job if case.latest else None,
    )
