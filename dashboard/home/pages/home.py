"""Home: what the newest builds changed of each model, and what somebody should decide about."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.accounts.selectors import starred_models
from dashboard.comparisons.selectors.measured_builds import measured_builds
from dashboard.comparisons.selectors.newest_release import newest_release
from dashboard.home.selectors import home
from dashboard.home.selectors.attention import attention
from dashboard.home.selectors.change_map import is_release, night_map, release_map, tracks_apart
from dashboard.home.selectors.needs_you import needs_you, open_steps
from dashboard.notifications.selectors import channels
from dashboard.results.selectors import rollup
from dashboard.runs.selectors import fleet, runs
from dashboard.ui.locations import SeriesLocation, offered
from dashboard.ui.pages import parameters
from dashboard.ui.pages.without_data import offers_what_there_is


@offers_what_there_is
def show(request: HttpRequest) -> HttpResponse:
    now = timezone.now()
    locations = rollup.series_locations(landed=True)
    place = parameters.opening_place(request, locations)
    workers = [row for machine in fleet.machines(now) for row in machine.workers]
    schedules = home.schedules(now)
    # For those who look after the channels
    sees_channels = request.user.is_staff and request.user.has_perm("dashboard.view_channel")
    places = offered(locations, place)
    starred = starred_models.of_user(request.user.pk)
    context: dict[str, Any] = {
        "machines": list(dict.fromkeys(each.machine.key for each in places)),
        "place": place,
        "active": runs.active_runs(),
        "attention": attention(now, place, workers, schedules),
        "starred": starred,
        "alive": sum(row.alive for row in workers),
        "signed_in": len(workers),
        "schedules": schedules,
        "channels_off": channels.switched_off() if sees_channels else [],
    }
    if place is None:
        context["needs"] = needs_you("", None, starred)
    else:
        context |= _results(place, request.GET.get("track", ""), starred)
    return render(request, "home/home.html", context)


def active(request: HttpRequest) -> HttpResponse:
    """The active runs, which htmx loads every few seconds."""
    return render(request, "home/_active_runs.html", {"active": runs.active_runs()})


def _results(place: SeriesLocation, track: str, starred: frozenset[str]) -> dict[str, Any]:
    """track: as the address names it; a machine begins with its releases, where it has two."""
    machine, measured = place.machine.key, measured_builds()
    tracks = tracks_apart(measured, machine)
    releases = release_map(machine, measured, starred)
    is_of_releases = releases is not None and track not in tracks
    shown = releases if is_of_releases else night_map(place, measured, starred)
    release = None
    if releases and is_of_releases:
        released = list(filter(is_release, measured))
        release = newest_release(machine, released, releases.report_of)
    return {
        "map": shown,
        "tracks": tracks if releases or len(tracks) > 1 else [],
        "has_releases": releases is not None,
        "release": release,
        "needs": needs_you(machine, shown, starred),
        "open_steps": open_steps(release),
        "failing": home.failing(place),
    }
