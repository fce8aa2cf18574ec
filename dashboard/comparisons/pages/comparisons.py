"""One comparison of two builds: live while it is measured, then the upgrade report that can be
sent.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.catalog.core import commits
from dashboard.catalog.core.plan import PlanError
from dashboard.comparisons.pages import report_pages
from dashboard.comparisons.pages.measuring import (
    asks_for_live_part,
    may_add_runs,
    may_change_runs,
    requested_repeats,
    say_cancelled,
)
from dashboard.comparisons.selectors import comparisons
from dashboard.comparisons.services.comparisons import cancel_comparison, measure_more
from dashboard.language.metrics import comparable_metrics
from dashboard.language.wording import plural
from dashboard.models import Comparison
from dashboard.ui.rows import one


def show(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The page; htmx asks for it again every few seconds and takes its live part until the runs
    have ended.
    """
    comparison = _or_404(uuid)
    metrics = comparable_metrics(comparison.machine.device_kind)
    results = comparisons.results(comparison, report_pages.chosen_metric(request, metrics))
    progress = comparisons.progress(comparison, timezone.now())
    if asks_for_live_part(request) and not progress.is_active:
        return HttpResponse(headers={"HX-Refresh": "true"})
    libraries = sorted(comparison.libraries.items())
    context: dict[str, Any] = {
        "comparison": comparison,
        "progress": progress,
        "commits": commits.between(comparison.base.git_sha, comparison.new.git_sha),
        "differences": comparisons.differences(comparison),
        "has_data": results.has_data,
        "measure": {
            "base": comparison.base_id,
            "new": comparison.new_id,
            "machine": comparison.machine_id,
        },
        "libraries": ", ".join(f"{name} {version}" for name, version in libraries),
        "bridge": results.bridge,
        "own_libraries": results.own_libraries,
        **report_pages.context(
            request, results.shown, metrics, *comparisons.measured_sides(comparison)
        ),
    }
    return render(request, "comparisons/comparison.html", context)


def export(request: HttpRequest, uuid: UUID, form: str) -> HttpResponse:
    """All cases of all metrics as CSV or JSON; the report as Markdown."""
    comparison = _or_404(uuid)
    return report_pages.export(
        comparisons.report(comparison),
        *comparisons.measured_sides(comparison),
        form,
        name=f"{comparison.base}-to-{comparison.new}",
        subject=comparisons.subject(
            comparison, request.build_absolute_uri(comparison.get_absolute_url())
        ),
    )


def _or_404(uuid: UUID) -> Comparison:
    return one(comparisons.listing(), "comparison", uuid=uuid)


@require_POST
@may_change_runs
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponse:
    say_cancelled(request, cancel_comparison(comparison=_or_404(uuid)))
    return redirect("comparison", uuid=uuid)


@require_POST
@may_add_runs
def more(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Measure every case again on both builds."""
    repeats = requested_repeats(request)
    try:
        measure_more(comparison=_or_404(uuid), repeats=repeats)
    except PlanError as error:
        messages.error(request, str(error))
    else:
        processes = plural(repeats, "more process", "more processes")
        messages.success(request, f"Queued {processes} of every case on both builds.")
    return redirect("comparison", uuid=uuid)
