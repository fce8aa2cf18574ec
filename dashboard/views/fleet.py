"""Workers, machines and tracks; the glossary."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.glossary import WORDS
from dashboard.metrics import METRICS
from dashboard.selectors import fleet


def show(request: HttpRequest) -> HttpResponse:
    """Live: htmx asks for the page again every few seconds and takes the table."""
    context = {
        "machines": fleet.machines(timezone.now(), with_jobs=True),
        "sources": fleet.sources(),
        "repositories": fleet.repositories(),
        "environments": fleet.environments(),
        "tracks": fleet.tracks(),
        "schedules": fleet.schedules(),
    }
    return render(request, "fleet.html", context)


def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "glossary.html", {"words": WORDS, "metrics": METRICS.values()})
