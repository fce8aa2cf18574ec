"""The first page: does anything need me, what changed, how does every family stand, who works."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect, render
from django.urls import reverse
from django.utils import timezone

from dashboard.accounts.selectors import saved_views
from dashboard.language.metrics import METRICS, SUMMARY
from dashboard.language.wording import duration, plural
from dashboard.models import Channel
from dashboard.notifications.selectors import channels
from dashboard.overview.selectors import families, overview
from dashboard.overview.selectors.overview import OpenAlerts, ScheduleLine, WorkerLine
from dashboard.results.selectors import rollup
from dashboard.runs.selectors import runs
from dashboard.ui.locations import SeriesLocation
from dashboard.ui.pages import parameters

_OLD = timedelta(hours=36)  # a nightly schedule has missed a night


def show(request: HttpRequest) -> HttpResponse:
    if view := _default_view(request):
        return redirect(view)
    now = timezone.now()
    known = rollup.series_locations()
    place = parameters.place(request, known)
    workers, schedules, alerts = (
        overview.fleet(now),
        overview.schedules(now),
        overview.open_alerts(),
    )
    context = {
        "places": known,
        "place": place,
        "active": runs.active_runs(),
        "open_alerts": alerts,
        "attention": [*_attention(now, place, alerts, workers, schedules)],
        "workers": workers,
        "alive": sum(line.state not in {"", "silent"} for line in workers),
        "signed_in": sum(bool(line.name) for line in workers),
        "waiting": sum({line.machine: line.waiting for line in workers}.values()),
        "schedules": schedules,
        "channels_off": _channels_off(request),
        **(_measured(request, place) if place else {}),
    }
    return render(request, "overview/overview.html", context)


def _default_view(request: HttpRequest) -> str:
    """Where somebody comes in who typed the site's address, or has it as a bookmark; empty for who
    followed a link.
    """
    is_plain = not request.GET and request.headers.get("Sec-Fetch-Site") == "none"
    address = saved_views.default_address(request.user.pk) if is_plain else ""
    return "" if address == request.path else address


def active(request: HttpRequest) -> HttpResponse:
    """The runs at work, as htmx asks for them every few seconds."""
    return render(request, "overview/_active_runs.html", {"active": runs.active_runs()})


def _measured(request: HttpRequest, place: SeriesLocation) -> dict[str, Any]:
    configs = families.configs()
    config = parameters.one_of(request, "config", configs)
    return {
        "configs": configs,
        "config": config,
        "families": families.read(place, config),
        "metrics": [METRICS[key] for key in SUMMARY],
        "notable": overview.notable(place),
        "days": families.DAYS,
    }


@dataclass(frozen=True, slots=True)
class Attention:
    """Something that a person should look at, and where."""

    text: str
    url: str


def _attention(
    now: datetime,
    place: SeriesLocation | None,
    alerts: OpenAlerts,
    workers: Sequence[WorkerLine],
    schedules: Sequence[ScheduleLine],
) -> Iterator[Attention]:
    high = sum(number for severity, number, _ in alerts.tally.rows if severity == "high")
    if high:
        yield Attention(
            f"{plural(high, 'open alert')} of high severity.", f"{reverse('alerts')}?severity=high"
        )
    if workers and not any(line.name for line in workers):
        yield Attention("No worker has signed in: nothing is measured.", reverse("fleet"))
    silent = [line.name for line in workers if line.state == "silent"]
    if silent:
        names = ", ".join(silent[:3]) + (f" and {len(silent) - 3} more" if len(silent) > 3 else "")
        yield Attention(
            f"Not heard of: worker{'s' if len(silent) > 1 else ''} {names}.", reverse("fleet")
        )
    for line in schedules:
        if line.is_late and line.due:
            ago = duration((now - line.due).total_seconds())
            yield Attention(
                f"Schedule {line.schedule.name} was due {ago} ago and did not begin.", "#schedules"
            )
        elif line.schedule.problem:
            yield Attention(f"Schedule {line.schedule.name}: {line.schedule.problem}", "#schedules")
    if place and schedules and now - place.at > _OLD:
        ago = duration((now - place.at).total_seconds())
        yield Attention(f"The newest result here is {ago} old.", reverse("runs"))


def _channels_off(request: HttpRequest) -> list[Channel]:
    """Channels through which nobody is told any more, for who looks after them."""
    may_see = request.user.is_staff and request.user.has_perm("dashboard.view_channel")
    return channels.switched_off() if may_see else []
