"""Releases as an axis: a line per config over builds, and a matrix of cases × builds."""

from collections import Counter
from collections.abc import Sequence

from csp.decorators import csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.comparisons.core.candidate_verdicts import WHAT_IT_MEANS
from dashboard.comparisons.selectors import candidates
from dashboard.comparisons.selectors.measured_builds import (
    MeasuredBuild,
    builds_by_version,
    measured_builds,
    visible,
)
from dashboard.comparisons.selectors.newest_release import newest_release
from dashboard.language.metrics import METRICS, comparable_metrics
from dashboard.models import Benchmark
from dashboard.results.selectors.rollup import opening_machine
from dashboard.trends.selectors.versions import (
    EXPORT_FIELDS,
    VersionsSelection,
    export_rows,
    versions_figure,
    versions_page,
)
from dashboard.ui.pages import parameters
from dashboard.ui.pages.exports import table_file
from dashboard.ui.pages.figures import figure_response
from dashboard.ui.pages.without_data import Offer, WithoutData, offers_what_there_is

_MOST_BUILDS = 12


def select(request: HttpRequest, measured: Sequence[MeasuredBuild]) -> VersionsSelection:
    """Reads the address. Raises WithoutData for a machine that was not measured."""
    if not measured:
        raise Http404("Nothing was measured yet: there are no versions to show.")
    track = request.GET.get("track", "")
    machine = request.GET.get("machine") or _opening_machine(measured, track)
    newest_first = builds_by_version(measured, machine, track)
    if not newest_first:
        where = f"on a machine “{machine}”" + (f" for a track “{track}”" if track else "")
        places = {(build.machine_key, build.track_key) for build in visible(measured)}
        tracks = sorted(key for here, key in places if here == machine)
        raise WithoutData(
            f"Nothing was measured {where}.",
            Offer("Measured on", "machine", sorted({key for key, _ in places}), ["track", "base"]),
            Offer("Tracks measured there", "track", tracks),
        )

    releases = [build for build in newest_first if build.base is None]
    with_variants = "variants" in request.GET or len(releases) < 2
    builds = (newest_first if with_variants else releases)[:_MOST_BUILDS][::-1]
    base = _base(request, newest_first, builds)
    if base not in builds:
        builds = [base, *builds[1:]]
    metrics = [metric.key for metric in comparable_metrics(newest_first[0].device_kind)]
    metric = parameters.one_of(request, "metric", metrics) or "latency_ms"
    return VersionsSelection(
        machine=newest_first[0],
        builds=builds,
        total=len(newest_first),
        variants=len(newest_first) - len(releases),
        with_variants=with_variants,
        base=base,
        metric=METRICS[metric],
        benchmark=request.GET.get("benchmark", ""),
    )


def _opening_machine(measured: Sequence[MeasuredBuild], track: str) -> str:
    """Choose among machines that measured two builds, where there are any. One query at most."""
    on_track = [build for build in measured if track in {"", build.track_key}] or measured
    builds = {(build.machine_key, build.build) for build in visible(on_track) or on_track}
    counts = Counter(machine for machine, _ in builds)
    several = [machine for machine, count in counts.items() if count > 1]
    return opening_machine(several or list(counts), track)


def _base(
    request: HttpRequest, measured: Sequence[MeasuredBuild], shown: Sequence[MeasuredBuild]
) -> MeasuredBuild:
    """The build that the address names; else the oldest plain one that is shown."""
    label = request.GET.get("base", "")
    for build in measured:
        if build.label == label:
            return build
    for build in shown:
        if build.base is None:
            return build
    return shown[0]


@csp_update(settings.CHART_POLICY)
@offers_what_there_is
def show(request: HttpRequest) -> HttpResponse:
    measured = measured_builds()
    if not measured:
        return render(request, "trends/versions.html", {})
    selection = select(request, measured)
    context = {
        "selection": selection,
        "machines": sorted(
            {build.machine_key for build in [*visible(measured), selection.machine]}
        ),
        "metrics": comparable_metrics(selection.machine.device_kind),
        "release": newest_release(selection.machine.machine_key, measured),
        "candidates": candidates.rows(selection.machine.machine_key),
        "candidate_meaning": WHAT_IT_MEANS,
        "query": f"machine={selection.machine.machine_key}&metric={selection.metric.key}",
        **versions_page(selection, all_rows="all" in request.GET),
    }
    return render(request, "trends/versions.html", context)


def data(request: HttpRequest) -> HttpResponse:
    """The figure as JSON: {"data": [traces], "layout": {…}}."""
    selection = select(request, measured_builds())
    benchmark = Benchmark.objects.filter(name=selection.benchmark).first()
    if benchmark is None:
        raise Http404(f"There is no benchmark “{selection.benchmark}”.")
    return figure_response(versions_figure(selection, benchmark))


def export(request: HttpRequest, form: str) -> HttpResponse:
    """Every case on every build that is shown, as CSV or JSON."""
    selection = select(request, measured_builds())
    name = f"versions-{selection.machine.machine_key}"
    return table_file(name, form, EXPORT_FIELDS, export_rows(selection))
