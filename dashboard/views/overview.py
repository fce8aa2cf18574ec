"""The first page: what runs, what is new, what moved, who works."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.selectors import fleet, overview, rollup, runs
from dashboard.views import parameters

_LAST_RUNS = 8


def show(request: HttpRequest) -> HttpResponse:
    known = rollup.places()
    place = parameters.place(request, known)
    cases = overview.read(place) if place else []
    active = list(runs.active())
    listed = runs.with_counts([*active, *runs.ended()[:_LAST_RUNS]])
    context = {
        "places": known,
        "place": place,
        "active": listed[: len(active)],
        "last": listed[len(active) :],
        "families": overview.family_table(cases),
        "movers": overview.movers(cases),
        "cases": cases,
        "failed": [case for case in cases if case.failed],
        "machines": fleet.machines(timezone.now()),
        "schedules": fleet.schedules(),
    }
    return render(request, "overview.html", context)
