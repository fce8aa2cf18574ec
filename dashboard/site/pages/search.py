"""The search box in the head of every page: its hits while one types, and a page of them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.site.selectors.search import search


def show(request: HttpRequest) -> HttpResponse:
    """What was found; htmx gets the hits alone."""
    text = request.GET.get("q", "").strip()
    template = (
        "site/_hits.html" if request.headers.get("HX-Target") == "hits" else "site/search.html"
    )
    return render(request, template, {"q": text, "found": search(text)})
