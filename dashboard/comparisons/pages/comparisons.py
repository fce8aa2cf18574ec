"""One comparison of two builds: live while it is measured, then the upgrade report that can be
sent.
"""

from typing import Any
from uuid import UUID

from django.contrib import messages
from django.contrib.auth.decorators import permission_required
from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.catalog.core import commits
from dashboard.catalog.core.plan import PlanError
from dashboard.comparisons.core.matching import compare
from dashboard.comparisons.core.metric_effects import Libraries
from dashboard.comparisons.core.upgrade_answer import REPORT_METRICS, build_report
from dashboard.comparisons.pages import report_pages
from dashboard.comparisons.selectors import comparisons
from dashboard.comparisons.services.comparisons import cancel_comparison, measure_more
from dashboard.language.metrics import METRICS
from dashboard.language.wording import plural
from dashboard.models import Comparison
from dashboard.ui.pages import parameters

_PAGE_SIZE = 25
may_add_runs = permission_required("dashboard.add_run", raise_exception=True)
may_change_runs = permission_required("dashboard.change_run", raise_exception=True)


def listing(request: HttpRequest) -> HttpResponse:
    page = parameters.page(request, comparisons.listing(), _PAGE_SIZE)
    return render(request, "comparisons/comparisons.html", {"page": page})


def show(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The page; htmx asks for it again every few seconds and takes its live part until the runs
    have ended.
    """
    found = _or_404(uuid)
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or "latency_ms"]
    base, new = comparisons.sides(found, {*REPORT_METRICS, metric.key})
    answered = build_report(base, new)
    table = answered.tables.get(metric.key) or compare(base, new, metric)
    progress = comparisons.progress(found, timezone.now())
    bridge = comparisons.bridge(found, new)
    context: dict[str, Any] = {
        "comparison": found,
        "progress": progress,
        "commits": commits.between(found.base.git_sha, found.new.git_sha),
        "has_data": bool(base or new),
        "search": f"base={found.base_id}&new={found.new_id}&machine={found.machine_id}",
        "libraries": ", ".join(f"{name} {version}" for name, version in _sorted(found.libraries)),
        "bridge": build_report(*bridge[:2], any_libraries=True) if bridge else None,
        "own_libraries": bridge[2] if bridge else "",
        **report_pages.context(request, answered, table),
    }
    if (
        request.headers.get("HX-Request")
        and request.headers.get("HX-Target") == "live"
        and not progress.is_active
    ):
        # It ended: the page has more to show than its live part
        return HttpResponse(headers={"HX-Refresh": "true"})
    return render(request, "comparisons/comparison.html", context)


def _sorted(libraries: dict[str, str]) -> Libraries:
    return tuple(sorted(libraries.items()))


def export(request: HttpRequest, uuid: UUID, form: str) -> HttpResponse:
    """All cases of all metrics as CSV or JSON; the report as Markdown."""
    found = _or_404(uuid)
    base, new = comparisons.sides(found, REPORT_METRICS)
    address = request.build_absolute_uri(found.get_absolute_url())
    name = f"{found.base}-to-{found.new}"
    return report_pages.export(
        build_report(base, new), form, name=name, question=found.question, address=address
    )


def _or_404(uuid: UUID) -> Comparison:
    try:
        return comparisons.comparison(uuid)
    except Comparison.DoesNotExist:
        raise Http404(f"There is no comparison {uuid}.") from None


@require_POST
@may_change_runs
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponse:
    stopped = cancel_comparison(comparison=_or_404(uuid))
    messages.success(
        request,
        f"Cancelled: {plural(stopped, 'job')} will not be measured. One that runs stops within "
        "seconds.",
    )
    return redirect("comparison", uuid=uuid)


@require_POST
@may_add_runs
def more(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Measure every case again on both builds."""
    found = _or_404(uuid)
    asked = request.POST.get("repeats", "")
    repeats = int(asked) if asked.isdecimal() else 0
    try:
        measure_more(comparison=found, repeats=repeats)
    except PlanError as error:
        messages.error(request, str(error))
    else:
        messages.success(
            request,
            f"Queued {plural(repeats, 'more process', 'more processes')} of every case on both "
            "builds.",
        )
    return redirect("comparison", uuid=uuid)
