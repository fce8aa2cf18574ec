"""One search between two builds: where it stands, what each step said, and the commits that are
left.
"""

from typing import Any

from django.contrib import messages
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.comparisons.pages.measuring import may_change_runs
from dashboard.comparisons.selectors import bisections
from dashboard.comparisons.services.bisections import cancel_bisection
from dashboard.language.wording import metric_of
from dashboard.models import Bisection
from dashboard.ui.rows import one


def show(request: HttpRequest, pk: int) -> HttpResponse:
    """The page; htmx asks for it again every few seconds and takes its live part until the search
    has ended.
    """
    bisection = one(bisections.listing(), "bisection", pk=pk)
    rows = bisections.rows(bisection)
    context: dict[str, Any] = {
        "bisection": bisection,
        "metric": metric_of(bisection.metric),
        "rows": rows,
        "has_commits": any(row.build.git_sha for row in rows),
        "range": bisections.commit_range(bisection),
        "progress": bisections.progress(bisection, timezone.now()),
        "is_active": bisection.state == Bisection.State.RUNNING,
    }
    return render(request, "comparisons/bisection.html", context)


@require_POST
@may_change_runs
def cancel(request: HttpRequest, pk: int) -> HttpResponse:
    bisection = one(Bisection.objects.all(), "bisection", pk=pk)
    if bisection.state == Bisection.State.RUNNING:
        cancel_bisection(bisection=bisection)
        messages.success(request, "Search cancelled. A running job stops within seconds.")
    return redirect("bisection", pk=pk)
