"""The first page: what runs, what is new, what moved, who works."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.models import Channel
from dashboard.selectors import alerts, channels, fleet, overview, rollup, runs
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
    active, last = runs.active_and_last(_LAST_RUNS)
    context = {
        "places": known,
        "place": place,
        "active": active,
        "last": last,
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
        "open_alerts": alerts.tally(alerts.listing({})),
        "channels_off": _channels_off(request),
    }
    return render(request, "overview.html", context)


def _channels_off(request: HttpRequest) -> list[Channel]:
    """Channels through which nobody is told any more, for who looks after them."""
    may_see = request.user.is_staff and request.user.has_perm("dashboard.view_channel")
    return channels.switched_off() if may_see else []
