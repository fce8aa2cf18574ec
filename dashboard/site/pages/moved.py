"""Addresses of pages that other pages replace, with what was chosen in them."""

from django.http import HttpRequest, HttpResponsePermanentRedirect
from django.urls import reverse


def versions(request: HttpRequest) -> HttpResponsePermanentRedirect:
    """A benchmark's trend by release, a comparison with the chosen base, else the map."""
    query = request.GET.copy()
    benchmark = (query.pop("benchmark", None) or [""])[-1]
    if benchmark:
        query.pop("base", None)
        query["axis"] = "release"
        page = reverse("series", args=[benchmark])
    elif query.get("base"):
        page = reverse("compare")
    else:
        page = reverse("home")
    return HttpResponsePermanentRedirect(f"{page}?{query.urlencode()}" if query else page)


def advice(request: HttpRequest, name: str) -> HttpResponsePermanentRedirect:
    """The configs of the benchmark, in the table on its page."""
    query = request.GET.urlencode()
    page = f"{reverse('series', args=[name])}{'?' if query else ''}{query}#configs"
    return HttpResponsePermanentRedirect(page)
