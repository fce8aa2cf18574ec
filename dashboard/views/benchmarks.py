"""The matrix: benchmarks × configs."""

from typing import Any

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.models import Status
from dashboard.selectors import matrix, rollup
from dashboard.views import parameters


def show(request: HttpRequest) -> HttpResponse:
    known = rollup.places()
    place = parameters.place(request, known)
    everything = matrix.read(place) if place else []
    choices = {name: list(dict.fromkeys(getattr(case, name) for case in everything)) for name in matrix.FILTERS}
    chosen = {name: parameters.one_of(request, name, choices[name]) for name in matrix.FILTERS}
    status = parameters.one_of(request, "status", ["failed", *Status.values])
    cases = [case for case in everything if all(value in {"", getattr(case, name)} for name, value in chosen.items())]
    context: dict[str, Any] = {
        "places": known,
        "place": place,
        "matrix": matrix.matrix(cases, status),
        "filters": [(name, choices[name], chosen[name]) for name in matrix.FILTERS],
        "statuses": Status.values,
        "status": status,
        "is_filtered": bool(status or any(chosen.values())),
    }
    return render(request, "benchmarks.html", context)
