"""One factorial: live while it is measured, then which factor moved the number."""

from typing import Any
from uuid import UUID

import orjson
from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.catalog.core.plan import PlanError
from dashboard.comparisons.core import factorial_report
from dashboard.comparisons.core.factorial_table import table_of
from dashboard.comparisons.pages import report_pages
from dashboard.comparisons.pages.measuring import (
    PAGE_SIZE,
    asks_for_live_part,
    may_add_runs,
    may_change_runs,
    requested_repeats,
    say_cancelled,
)
from dashboard.comparisons.selectors import factorials
from dashboard.comparisons.services.factorials import cancel_factorial, measure_rounds
from dashboard.language.wording import plural
from dashboard.models import Factorial
from dashboard.ui.pages import parameters
from dashboard.ui.rows import one


def listing(request: HttpRequest) -> HttpResponse:
    page = parameters.page(request, factorials.listing(), PAGE_SIZE)
    return render(request, "comparisons/factorials.html", {"page": page})


def show(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """The page; htmx asks for it again every few seconds and takes its live part until the runs
    have ended.
    """
    factorial = _or_404(uuid)
    progress = factorials.progress(factorial, timezone.now())
    if asks_for_live_part(request) and not progress.is_active:
        return HttpResponse(headers={"HX-Refresh": "true"})
    results = factorials.results(factorial)
    context: dict[str, Any] = {
        "factorial": factorial,
        "progress": progress,
        "results": results,
        "table": table_of(results.factors, results.analyses, is_over=not results.so_far),
    }
    return render(request, "comparisons/factorial.html", context)


def export(request: HttpRequest, uuid: UUID, form: str) -> HttpResponse:
    """Every effect and every arm in every metric, as CSV or JSON."""
    factorial = _or_404(uuid)
    results = factorials.results(factorial)
    content: str | bytes
    if form == "csv":
        content = factorial_report.csv(results.factors, results.analyses)
    else:
        content = orjson.dumps([*factorial_report.rows(results.factors, results.analyses)])
    return report_pages.download(content, str(factorial), form)


@require_POST
@may_change_runs
def cancel(request: HttpRequest, uuid: UUID) -> HttpResponse:
    say_cancelled(request, cancel_factorial(factorial=_or_404(uuid)))
    return redirect("factorial", uuid=uuid)


@require_POST
@may_add_runs
def more(request: HttpRequest, uuid: UUID) -> HttpResponse:
    """Measure every arm in further rounds."""
    repeats = requested_repeats(request)
    try:
        measure_rounds(factorial=_or_404(uuid), repeats=repeats)
    except PlanError as error:
        messages.error(request, str(error))
    else:
        messages.success(request, f"Queued {plural(repeats, 'more round')} of every arm.")
    return redirect("factorial", uuid=uuid)


def _or_404(uuid: UUID) -> Factorial:
    return one(factorials.listing(), "factorial", uuid=uuid)
