"""The documentation on the site: docs/*.md as pages, with a search over them."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe

from dashboard.language.glossary import WORDS
from dashboard.language.metrics import METRICS
from dashboard.site import documentation


def index(request: HttpRequest) -> HttpResponse:
    """Every page with what it is about, or what a search (`q`) finds."""
    found = documentation.pages()
    words = request.GET.get("q", "").strip()[:200]
    hits = documentation.search(words, found) if words else []
    context = {"sections": documentation.sections(found), "words": words, "hits": hits}
    return render(request, "site/docs.html", context)


def page(request: HttpRequest, slug: str) -> HttpResponse:
    """One page. Raises Http404 for one that is not there."""
    found = documentation.pages()
    if slug not in found:
        raise Http404(f"There is no page “{slug}” in the documentation.")
    shown, order = found[slug], list(found)
    place = order.index(slug)
    context = {
        "sections": documentation.sections(found),
        "page_shown": shown,
        "body": mark_safe(shown.html),  # noqa: S308 - our own files, rendered with HTML in them escaped
        "before": found[order[place - 1]] if place else None,
        "after": found[order[place + 1]] if place + 1 < len(order) else None,
    }
    return render(request, "site/page.html", context)


def picture(request: HttpRequest, name: str) -> FileResponse:
    """A picture of a page. Raises Http404."""
    path = documentation.picture(name)
    if path is None:
        raise Http404(f"The documentation has no picture “{name}”.")
    return FileResponse(
        path.open("rb"), content_type="image/png", headers={"Cache-Control": "max-age=3600"}
    )


def glossary(request: HttpRequest) -> HttpResponse:
    return render(request, "site/glossary.html", {"words": WORDS, "metrics": METRICS.values()})
