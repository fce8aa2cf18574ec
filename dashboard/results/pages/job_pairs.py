"""Two jobs side by side: chosen on a trend or in its table."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.results.selectors import compile_calls, job_pages


def show(request: HttpRequest) -> HttpResponse:
    """What the two jobs of the address measured, and in what they differ.

    `chosen=median` in the address: a comparison chose them by their time on the device.
    """
    is_chosen = request.GET.get("chosen") == "median"
    context = job_pages.pair_page(request.GET.getlist("job"), is_chosen=is_chosen)
    return render(request, "results/pair.html", context)


def calls(request: HttpRequest) -> HttpResponse:
    """How the Python calls of the two jobs' compilations differ, from a function (`at`) down."""
    context = compile_calls.page(request.GET.getlist("job"), request.GET.get("at", ""))
    return render(request, "results/pair_calls.html", context)
