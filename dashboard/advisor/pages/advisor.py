"""The advisor: which config for how many steps, every benchmark in a line, and one in full."""

from collections.abc import Sequence
from typing import Any

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.advisor.core import advice_charts
from dashboard.advisor.core.advice_export import EXPORT_FIELDS
from dashboard.advisor.core.advice_rows import ORDERS
from dashboard.advisor.selectors.advice import (
    AdvisedBuild,
    advised_builds,
    choose_build,
    read_options,
)
from dashboard.advisor.selectors.advice_page import (
    AdviceSelection,
    advice_list,
    advice_page,
    export_document,
    export_table,
    place_choices,
)
from dashboard.language.metrics import STARTS, Start
from dashboard.models import Benchmark
from dashboard.ui.pages import parameters
from dashboard.ui.pages.exports import csv_file, json_file
from dashboard.ui.pages.figures import figure_response
from dashboard.ui.pages.without_data import Offer, WithoutData, offers_what_there_is
from dashboard.ui.rows import one

_TOO_LARGE = 1e15


def _build(request: HttpRequest, builds: Sequence[AdvisedBuild]) -> AdvisedBuild:
    """The machine and build of the address. Raises WithoutData where nothing was measured there."""
    machine = request.GET.get("machine", "")
    build = choose_build(builds, machine, request.GET.get("build", ""))
    if build is None:
        machines = sorted({build.machine_key for build in builds if not build.hidden})
        raise WithoutData(
            f"Nothing was measured on a machine “{machine}”.",
            Offer("Measured on", "machine", machines, ["build"]),
        )
    return build


def _start(request: HttpRequest) -> Start:
    requested = request.GET.get("start", "")
    return next((start for start in STARTS if start == requested), "cold")


def _positive(request: HttpRequest, name: str) -> float | None:
    """A number above 0; None where the address has none: an old link shows more, not an error."""
    try:
        number = float(request.GET.get(name, ""))
    except ValueError:
        return None
    return number if 0 < number < _TOO_LARGE else None


def select(request: HttpRequest, benchmark: Benchmark) -> AdviceSelection | None:
    """Reads the address; None where the benchmark has no numbers."""
    builds = advised_builds(benchmark)
    if not builds:
        return None
    build = _build(request, builds)
    return AdviceSelection(
        benchmark=benchmark,
        builds=builds,
        build=build,
        start=_start(request),
        steps=_positive(request, "steps"),
        hours=_positive(request, "hours"),
        memory_gb=_positive(request, "memory_gb"),
        options=read_options(build, benchmark).get(benchmark.name, []),
    )


def _select_measured(request: HttpRequest, name: str) -> AdviceSelection:
    """Raises Http404 for an unknown benchmark, and for one without numbers."""
    selection = select(request, one(Benchmark.objects.all(), "benchmark", name=name))
    if selection is None:
        raise Http404(f"{name} was not measured yet.")
    return selection


@offers_what_there_is
def listing(request: HttpRequest) -> HttpResponse:
    """Every benchmark of one machine and build with its advice in a row."""
    builds = advised_builds()
    if not builds:
        return render(request, "advisor/list.html", {})
    build, start = _build(request, builds), _start(request)
    order = parameters.one_of(request, "sort", list(ORDERS))
    context = {
        **place_choices(builds, build),
        "where": build,
        "start": start,
        "order": order,
        **advice_list(build, start, order),
    }
    return render(request, "advisor/list.html", context)


@csp_update(settings.CHART_POLICY)
@offers_what_there_is
def show(request: HttpRequest, name: str) -> HttpResponse:
    """The advice for one benchmark: the sentence, how sure it is, the curves, and the evidence."""
    benchmark = one(Benchmark.objects.all(), "benchmark", name=name)
    selection = select(request, benchmark)
    context: dict[str, Any] = {"benchmark": benchmark, "selection": selection}
    if selection:
        scale = parameters.one_of(request, "scale", ["eager"])
        context |= {"scale": scale, **advice_page(selection)}
    return render(request, "advisor/advisor.html", context)


def data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    selection = _select_measured(request, name)
    figure = advice_charts.figure(
        selection.advice(),
        relative=request.GET.get("scale") == "eager",
        horizon=selection.steps,
    )
    return figure_response(figure)


def export(request: HttpRequest, name: str, form: str) -> HttpResponse:
    """Send what each config costs, and from where on it is ahead, for every kind of start."""
    selection = _select_measured(request, name)
    if form == "csv":
        return csv_file(f"advice-{name}", EXPORT_FIELDS, export_table(selection))
    return json_file(f"advice-{name}", export_document(selection))
