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
    failed = [case for case in cases if case.failed]
    movers = overview.movers(cases)
    worse = sum(mover.change.tone == "bad" for mover in movers)
    machines = fleet.machines(timezone.now())
    active = list(runs.active())
    listed = runs.with_counts([*active, *runs.ended()[:_LAST_RUNS]])
    context = {
        "places": known,
        "place": place,
        "active": listed[: len(active)],
        "last": listed[len(active) :],
        "families": overview.family_table(cases),
        "movers": movers,
        "worse": worse,
        "better": len(movers) - worse,
        "cases": cases,
        "failed": failed,
        "passing": len(cases) - len(failed),
        "machines": machines,
        "alive": sum(row.alive for row in machines),
        "workers": sum(len(row.workers) for row in machines),
        "waiting": sum(row.waiting for row in machines),
        "schedules": fleet.schedules(),
    }
    return render(request, "overview.html", context)
