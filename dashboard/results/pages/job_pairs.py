"""Two jobs side by side: chosen on a trend or in its table."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.results.selectors import job_pages


def show(request: HttpRequest) -> HttpResponse:
    """What the two jobs of the address measured, and in what they differ; the older one first."""
    return render(request, "results/pair.html", job_pages.pair_page(request.GET.getlist("job")))
