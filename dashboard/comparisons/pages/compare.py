"""Two builds, machines, tracks or configs side by side, from what is stored."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.catalog.core import commits
from dashboard.comparisons.core.case_table import ReportWithTable
from dashboard.comparisons.core.upgrade_report import ReportSubject
from dashboard.comparisons.pages import report_pages
from dashboard.comparisons.pages.form import choose
from dashboard.comparisons.selectors.measured_builds import (
    labels_newest_first,
    measured_builds,
    visible,
)
from dashboard.comparisons.selectors.side_choice import Choice, other_differences_of
from dashboard.comparisons.selectors.stored_reports import stored_report
from dashboard.language.metrics import Metric, comparable_metrics
from dashboard.ui.pages.without_data import offers_what_there_is


@offers_what_there_is
def show(request: HttpRequest) -> HttpResponse:
    measured = measured_builds()
    choice = choose(request, measured)
    if choice is None:
        return render(request, "comparisons/compare.html", {"known": measured})
    base, new = choice.base.tested, choice.new.tested
    offered = [*visible(measured), base, new]
    context: dict[str, Any] = {
        "known": measured,
        "choice": choice,
        "machines": sorted({tested.machine_key for tested in offered}),
        "builds": labels_newest_first(offered),
        "tracks": sorted({tested.track_key for tested in offered}),
        "measure": _both_builds(choice),
        "commits": commits.between(base.git_sha, new.git_sha),
        "differences": other_differences_of(choice),
        **report_pages.context(
            request,
            _report(request, choice),
            _metrics(choice),
            choice.base.measured,
            choice.new.measured,
            filters_config=False,
        ),
    }
    return render(request, "comparisons/compare.html", context)


def _report(request: HttpRequest, choice: Choice) -> ReportWithTable:
    return stored_report(
        choice,
        report_pages.chosen_metric(request, _metrics(choice)),
        any_libraries=request.GET.get("libraries") == "any",
    )


def _metrics(choice: Choice) -> list[Metric]:
    return comparable_metrics(choice.base.tested.device_kind, choice.new.tested.device_kind)


def _both_builds(choice: Choice) -> dict[str, int] | None:
    """Return the fields of the form that measures both builds; None where the sides are not two
    builds of one machine.
    """
    if choice.differs != ["build"]:
        return None
    base, new = choice.base.tested, choice.new.tested
    return {"base": base.build, "new": new.build, "machine": new.machine}


def export(request: HttpRequest, form: str) -> HttpResponse:
    """All cases of all metrics, nothing left out, as CSV or JSON; the report as Markdown."""
    choice = choose(request, measured_builds())
    if choice is None:
        return HttpResponse(
            "Fewer than two builds were measured: there is nothing to compare.\n", status=404
        )
    base, new = choice.sides
    page = request.build_absolute_uri(request.get_full_path().replace(f"export.{form}", ""))
    return report_pages.export(
        _report(request, choice).report,
        choice.base.measured,
        choice.new.measured,
        form,
        name=f"{base}-to-{new}",
        subject=ReportSubject(choice.question, page, other_differences_of(choice)),
    )
