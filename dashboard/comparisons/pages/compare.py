"""Two builds, machines, tracks or configs side by side, from what is stored."""

from dataclasses import dataclass
from functools import lru_cache
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.catalog.core import commits
from dashboard.catalog.core.versions import version_order
from dashboard.comparisons.core.matching import CaseMeasurements, Key, Side, Table, compare
from dashboard.comparisons.core.upgrade_answer import REPORT_METRICS, UpgradeReport, build_report
from dashboard.comparisons.pages import report_pages
from dashboard.comparisons.pages.form import Choice, choose
from dashboard.comparisons.selectors import versions
from dashboard.comparisons.selectors.versions import SideSource
from dashboard.language.metrics import METRICS, Metric
from dashboard.ui.pages import parameters


@dataclass(frozen=True, slots=True)
class Found:
    """What a comparison's address shows."""

    known: list[versions.MeasuredBuild]
    choice: Choice
    build_report: UpgradeReport
    table: Table


def find(request: HttpRequest) -> Found | list[versions.MeasuredBuild]:
    """What the address asks for; what there is to choose from where that is less than two
    builds.
    """
    known = versions.measured_builds()
    choice = choose(request, known)
    if choice is None:
        return known
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or "latency_ms"]
    wanted = tuple((own.source, own.tested.build) for own in (choice.base, choice.new))
    metrics = tuple(sorted({*REPORT_METRICS, metric.key}))
    names = (choice.base.config, choice.new.config) if "config" in choice.differs else ("", "")
    anyway = request.GET.get("libraries") == "any"
    answered, table = _judged(
        versions.data_fingerprint(wanted, metrics), wanted, metrics, names, metric, anyway
    )
    return Found(known, choice, answered, table)


@lru_cache(maxsize=8)
def _judged(
    stamp: str,
    wanted: tuple[tuple[SideSource, int], ...],
    metrics: tuple[str, ...],
    names: tuple[str, str],
    metric: Metric,
    anyway: bool,
) -> tuple[UpgradeReport, Table]:
    """The report and the table of one metric; kept while the data are the same (`stamp`), because
    every filter of the page asks for them again.
    """
    base, new = (
        _aligned(side, own, names)
        for side, own in zip(versions.sides(wanted, metrics), names, strict=True)
    )
    answered = build_report(base, new, any_libraries=anyway)
    return answered, answered.tables.get(metric.key) or compare(
        base, new, metric, any_libraries=anyway
    )


def _aligned(side: Side, own: str, names: tuple[str, str]) -> Side:
    """Two configs are compared benchmark by benchmark: both sides' cases get one name."""
    if not own:
        return side
    name = f"{names[0]} → {names[1]}"
    return {
        Key(key.benchmark, name): CaseMeasurements(one.case, one.samples, one.failures)
        for key, one in side.items()
    }


def show(request: HttpRequest) -> HttpResponse:
    found = find(request)
    if not isinstance(found, Found):
        return render(request, "comparisons/compare.html", {"known": found})
    context: dict[str, Any] = {
        "known": found.known,
        "choice": found.choice,
        "machines": sorted({tested.machine_key for tested in found.known}),
        "builds": labels(found.known),
        "tracks": sorted({tested.track_key for tested in found.known}),
        "search": _search(found.choice),
        "commits": commits.between(
            *(side.tested.git_sha for side in (found.choice.base, found.choice.new))
        ),
        **report_pages.context(request, found.report, found.table),
    }
    return render(request, "comparisons/compare.html", context)


def _search(choice: Choice) -> str:
    """What a search between both builds begins with; empty where the sides differ in something else
    too.
    """
    if choice.differs != ["build"]:
        return ""
    base, new = choice.base.tested, choice.new.tested
    return urlencode({"base": base.build, "new": new.build, "machine": new.machine})


def labels(known: list[versions.MeasuredBuild]) -> list[str]:
    """The builds by version, newest first."""
    builds = {tested.label: tested for tested in known}
    return sorted(builds, key=lambda label: version_order(builds[label].version), reverse=True)


def export(request: HttpRequest, form: str) -> HttpResponse:
    """All cases of all metrics, nothing left out, as CSV or JSON; the report as Markdown."""
    found = find(request)
    if not isinstance(found, Found):
        return HttpResponse(
            "Fewer than two builds were measured: there is nothing to compare.\n", status=404
        )
    base, new = found.choice.sides
    address = request.build_absolute_uri(request.get_full_path().replace(f"export.{form}", ""))
    return report_pages.export(
        found.report, form, name=f"{base}-to-{new}", question=found.choice.question, address=address
    )
