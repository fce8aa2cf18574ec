"""The first page: the newest release, what changed, how each family stands, who works."""

from datetime import timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.comparisons.selectors.newest_release import newest_release
from dashboard.language.metrics import METRICS, SUMMARY
from dashboard.notifications.selectors import channels
from dashboard.overview.pages.last_look import last_look, remember
from dashboard.overview.selectors import families, overview
from dashboard.overview.selectors.attention import attention
from dashboard.overview.selectors.changes import drawn_change, listed_alerts
from dashboard.overview.selectors.release_map import release_map
from dashboard.results.selectors import rollup
from dashboard.results.selectors.build_order import newest_first
from dashboard.runs.selectors import runs
from dashboard.ui.locations import SeriesLocation, offered
from dashboard.ui.pages import parameters
from dashboard.ui.pages.without_data import offers_what_there_is

_FIRST_LOOK = timedelta(days=7)  # what a browser that was never here is shown as new


@offers_what_there_is
def show(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    locations = rollup.series_locations(landed=True)
    place = parameters.opening_place(request, locations)
    looked_at = last_look(request, now)
    since = looked_at or now - _FIRST_LOOK
    alerts = overview.open_alerts(since, place.machine.pk if place else None)
    listed = listed_alerts(alerts.first)
    workers = overview.fleet(now)
    waiting = {line.machine: line.waiting for line in workers}
    schedules = overview.schedules(now)
    # For those who look after the channels
    sees_channels = request.user.is_staff and request.user.has_perm("dashboard.view_channel")
    context = {
        "places": offered(locations, place),
        "place": place,
        "active": runs.active_runs(),
        "open_alerts": alerts,
        "looked_at": looked_at,
        "since": since,
        "listed": listed,
        "drawn": drawn_change(listed),
        "attention": attention(now, place, workers, schedules),
        "workers": workers,
        "alive": sum(line.state not in {"", "silent"} for line in workers),
        "signed_in": sum(bool(line.name) for line in workers),
        "waiting": sum(waiting.values()),
        "schedules": schedules,
        "channels_off": channels.switched_off() if sees_channels else [],
    }
    if place is not None:
        context |= _results(request, place)
    response = render(request, "overview/overview.html", context)
    remember(response, request, now)
    return response


def active(request: HttpRequest) -> HttpResponse:
    """The active runs, which htmx loads every few seconds."""
    return render(request, "overview/_active_runs.html", {"active": runs.active_runs()})


def _results(request: HttpRequest, place: SeriesLocation) -> dict[str, Any]:
    configs, builds = families.configs(), newest_first(place)
    config = parameters.one_of(request, "config", configs)
    machine, measured = place.machine.key, measured_builds()
    shown = release_map(machine, measured, request.user.pk)
    return {
        "release": newest_release(machine, measured, shown.report_of if shown else None),
        "map": shown,
        "configs": configs,
        "config": config,
        "families": families.read(place, builds, config),
        "metrics": [METRICS[key] for key in SUMMARY],
        "notable": overview.notable(place, builds),
        "days": families.DAYS,
    }
