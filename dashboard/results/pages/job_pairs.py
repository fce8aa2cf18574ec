"""Two jobs side by side: chosen on a trend or in its table, or by a comparison."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.language.metrics import METRICS
from dashboard.results.selectors import compile_calls, job_pages


def show(request: HttpRequest) -> HttpResponse:
    """Show what the two jobs of the address measured, and in what they differ.

    `chosen`: the metric by which a comparison chose them. `by=age`: the older one comes first, as a
    trend asks, whose points are chosen in any order; else they are shown in the address's order.
    """
    context = job_pages.pair_page(
        request.GET.getlist("job"),
        by_age=request.GET.get("by") == "age",
        chosen_by=METRICS.get(request.GET.get("chosen", "")),
    )
    return render(request, "results/pair.html", context)


def calls(request: HttpRequest) -> HttpResponse:
    """Compare the Python calls of the two jobs' compilations, from a function (`at`) down."""
    context = compile_calls.page(request.GET.getlist("job"), request.GET.get("at", ""))
    return render(request, "results/pair_calls.html", context)
