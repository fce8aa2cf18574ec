"""Parameters that several pages read from their address: the location, a filter, a page number."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils.http import url_has_allowed_host_and_scheme

from dashboard.ui.locations import SeriesLocation, choose_location, first_shown, offered
from dashboard.ui.pages.without_data import Offer, WithoutData


def place(request: HttpRequest, locations: Sequence[SeriesLocation]) -> SeriesLocation | None:
    """The machine and track that the address names, or those that reported last; None: no data.

    Raises WithoutData where the address names a machine or a track without data.
    """
    machine = request.GET.get("machine", "")
    track = request.GET.get("track", "")
    if not locations:
        return None
    on_offer = offered(locations, None)
    if machine and machine not in {location.machine.key for location in locations}:
        machines = sorted({location.machine.key for location in on_offer})
        raise WithoutData(
            f"Nothing was measured on a machine “{machine}”.",
            Offer("Measured on", "machine", machines, ["track"]),
        )
    if track and track not in {location.track.key for location in locations}:
        here = [place for place in on_offer if machine in {"", place.machine.key}]
        tracks = sorted({location.track.key for location in here})
        raise WithoutData(
            f"Nothing was measured for a track “{track}”.",
            Offer("Measured for", "track", tracks),
        )
    return choose_location(locations, machine, track)


def opening_place(
    request: HttpRequest, locations: Sequence[SeriesLocation]
) -> SeriesLocation | None:
    """As `place`; where the address names no track, one that has enough to show."""
    latest = place(request, locations)
    if latest is None or request.GET.get("track"):
        return latest
    return first_shown(locations, latest, request.GET.get("machine", ""))


def own_address(text: str, otherwise: str) -> str:
    """The address of one of the site's own pages, as forms send the one that they stand on."""
    is_own = text.startswith("/") and url_has_allowed_host_and_scheme(text, allowed_hosts=None)
    return text if is_own else otherwise


def one_of(request: HttpRequest, name: str, allowed: Sequence[str]) -> str:
    """The parameter ``name`` if it is allowed, else empty: an old link shows more, not an error."""
    value = request.GET.get(name, "")
    return value if value in allowed else ""


def filters(request: HttpRequest, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """The allowed value of each filter in the address; empty: not set."""
    return {name: one_of(request, name, allowed) for name, allowed in choices.items()}


def page(
    request: HttpRequest, rows: QuerySet[Any] | Sequence[Any], size: int, count: int | None = None
) -> Page[Any]:
    """The page of ``rows`` that the address asks for; the last one where it asks for too many.

    count: of the rows, where it is at hand.
    """
    paginator = Paginator(rows, size)
    if count is not None:
        paginator.count = count  # a cached property
    return paginator.get_page(request.GET.get("page"))
