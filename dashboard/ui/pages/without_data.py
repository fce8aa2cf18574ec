"""Choices of an address that have no data: their page says what there is instead, as links."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any, NamedTuple

from django.http import Http404, HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.models import Config, Machine, TorchBuild, Track

View = Callable[..., HttpResponse]
_EXISTING: dict[str, tuple[Any, str]] = {
    "machine": (Machine, "key"),
    "new_machine": (Machine, "key"),
    "track": (Track, "key"),
    "new_track": (Track, "key"),
    "config": (Config, "name"),
    "new_config": (Config, "name"),
    "build": (TorchBuild, "label__startswith"),
    "base": (TorchBuild, "label__startswith"),
    "new": (TorchBuild, "label__startswith"),
}


@dataclass(frozen=True, slots=True)
class Offer:
    """The values of one choice that have data.

    name: of the choice in the address. leaves_out: other choices, which do not hold with them.
    """

    label: str
    name: str
    values: Sequence[str]
    leaves_out: Sequence[str] = ()


class WithoutData(Http404):
    """Nothing was measured of what the address chooses; the text says what, the offers what was."""

    def __init__(self, reason: str, *offers: Offer) -> None:
        super().__init__(reason)
        self.offers = [offer for offer in offers if offer.values]


class Selector(NamedTuple):
    """A choice as the form keeps it. options: those with data, and what was chosen."""

    label: str
    name: str
    chosen: str
    options: list[str]


def offers_what_there_is(view: View) -> View:
    """A page that answers WithoutData with an empty state: 200, or 404 where the address names what
    does not exist at all.
    """

    @wraps(view)
    def show(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            return view(request, *args, **kwargs)
        except WithoutData as nothing:
            return _page(request, nothing)

    return show


def _page(request: HttpRequest, nothing: WithoutData) -> HttpResponse:
    links = []
    selectors: dict[str, Selector] = {}
    for offer in nothing.offers:
        of_values = []
        for value in offer.values:
            query = request.GET.copy()
            for name in offer.leaves_out:
                query.pop(name, None)
            query[offer.name] = value
            of_values.append((value, f"?{query.urlencode()}"))
        links.append((offer.label, of_values))
        chosen = request.GET.get(offer.name, "")
        known = selectors[offer.name].options if offer.name in selectors else []
        options = sorted({*known, *offer.values, chosen} - {""})
        label = offer.name.replace("_", " ").capitalize()
        selectors[offer.name] = Selector(label, offer.name, chosen, options)
    context = {
        "reason": str(nothing),
        "links": links,
        "selectors": selectors.values(),
        "kept": [(key, value) for key, value in request.GET.items() if key not in selectors],
    }
    status = 200 if _exists(request) else 404
    return render(request, "ui/without_data.html", context, status=status)


def _exists(request: HttpRequest) -> bool:
    """Whether everything that the address chooses is there."""
    for name, (model, field) in _EXISTING.items():
        value = request.GET.get(name, "").strip().replace("\0", "")
        if value and not model.objects.filter(**{field: value}).exists():
            return False
    return True
