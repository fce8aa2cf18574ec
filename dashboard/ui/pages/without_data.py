"""Choices of an address that have no data: their page says what there is instead, as links."""

from collections.abc import Callable, Mapping, Sequence
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
    """Nothing was measured of what the address chooses; the text says what, the offers what was.

    choices: the values of each selector that the page has with data.
    """

    def __init__(
        self, reason: str, *offers: Offer, choices: Mapping[str, Sequence[str]] | None = None
    ) -> None:
        super().__init__(reason)
        self.offers = [offer for offer in offers if offer.values]
        self.choices = choices or {}


class Selector(NamedTuple):
    """A choice as the form keeps it. options: those of the page, and what was chosen."""

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
    options = {name: [*values] for name, values in nothing.choices.items()}
    for offer in nothing.offers:
        of_values = []
        for value in offer.values:
            query = request.GET.copy()
            for name in offer.leaves_out:
                query.pop(name, None)
            query[offer.name] = value
            of_values.append((value, f"?{query.urlencode()}"))
        links.append((offer.label, of_values))
        options.setdefault(offer.name, []).extend(offer.values)

    kept = []
    for name in request.GET:
        chosen = request.GET.get(name, "")
        if name in _EXISTING and chosen:
            options.setdefault(name, []).append(chosen)
        elif name not in options:
            kept.append((name, chosen))
    selectors = []
    for name, values in options.items():
        label = name.replace("_", " ").capitalize()
        selectors.append(Selector(label, name, request.GET.get(name, ""), sorted({*values})))
    context = {"reason": str(nothing), "links": links, "selectors": selectors, "kept": kept}
    status = 200 if _exists(request) else 404
    return render(request, "ui/without_data.html", context, status=status)


def _exists(request: HttpRequest) -> bool:
    """Test whether everything that the address chooses is there."""
    for name, (model, field) in _EXISTING.items():
        value = request.GET.get(name, "").strip().replace("\0", "")
        if value and not model.objects.filter(**{field: value}).exists():
            return False
    return True
