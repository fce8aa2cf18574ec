"""The search box at the top of every page: its hits while one types, and a page of them."""

from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.site.selectors.search import search


def show(request: HttpRequest) -> HttpResponse:
    """The results; htmx gets only the list of hits."""
    text = request.GET.get("q", "").strip()
    is_typing = request.headers.get("HX-Target") == "hits"
    template = "site/_hits.html" if is_typing else "site/search.html"
    return render(request, template, {"q": text, "found": search(text)})
