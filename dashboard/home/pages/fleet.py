"""Workers, machines and tracks."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils import timezone

from dashboard.alerts.selectors import canaries
from dashboard.home.selectors import home
from dashboard.runs.selectors import disk, fleet


def show(request: HttpRequest) -> HttpResponse:
    """Live: htmx loads the page again every few seconds and takes the tables that change."""
    is_refresh = bool(request.headers.get("HX-Request"))
    now = timezone.now()
    machines = fleet.machines(now)
    environments = list(fleet.environments())
    context: dict[str, Any] = {
        "machines": machines,
        "lacks_worker": next((row.machine.key for row in machines if not row.workers), ""),
        "sources": fleet.sources(machines),
        "repositories": fleet.repositories(),
        "environments": environments,
        "tracks": fleet.tracks(),
        "schedules": home.schedules(now),
        "canaries": [] if is_refresh else canaries.last(),
        "disks": disk.workers(machines, environments),
        "site_disk": None if is_refresh else disk.of_site(),
    }
    return render(request, "home/fleet.html", context)
