"""What several pages read from their address: the place, a filter, a page number."""

from collections.abc import Mapping, Sequence
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.http import Http404, HttpRequest

from dashboard.ui.locations import SeriesLocation, choose_location


def place(request: HttpRequest, known: Sequence[SeriesLocation]) -> SeriesLocation | None:
    """The machine and track that the address names, or the one that reported last; None on a site
    without data.

    Raises Http404 where the address names a machine or a track without data.
    """
    machine, track = request.GET.get("machine", ""), request.GET.get("track", "")
    if known and machine not in {"", *(place.machine.key for place in known)}:
        raise Http404(f"Nothing was measured on a machine “{machine}”.")
    if known and track not in {"", *(place.track.key for place in known)}:
        raise Http404(f"Nothing was measured for a track “{track}”.")
    return choose_location(known, machine, track)


def one_of(request: HttpRequest, name: str, allowed: Sequence[str]) -> str:
    """The parameter ``name`` where it is one of ``allowed``; else empty: an old link shows more,
    not an error.
    """
    value = request.GET.get(name, "")
    return value if value in allowed else ""


def filters(request: HttpRequest, choices: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What the address sets each filter to, of the values that it can have; empty: not set."""
    return {name: one_of(request, name, allowed) for name, allowed in choices.items()}


def page(request: HttpRequest, rows: QuerySet[Any], size: int) -> Page[Any]:
    """The page of ``rows`` that the address asks for; the last one where it asks for too many."""
    return Paginator(rows, size).get_page(request.GET.get("page"))
