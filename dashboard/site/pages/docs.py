"""The documentation on the site: docs/*.md as pages, with a search over them."""

from django.http import FileResponse, Http404, HttpRequest, HttpResponse
from django.shortcuts import render
from django.utils.safestring import mark_safe

from dashboard.language.glossary import WORDS
from dashboard.language.metrics import METRICS
from dashboard.site import documentation


def index(request: HttpRequest) -> HttpResponse:
    """Every page with its summary, or the hits of a search (`q`)."""
    pages = documentation.pages()
    query = request.GET.get("q", "").strip()[:200]
    context = {
        "sections": documentation.sections(pages),
        "words": query,
        "hits": documentation.search(query, pages),
    }
    return render(request, "site/docs.html", context)


def page(request: HttpRequest, slug: str) -> HttpResponse:
    """One page. Raises Http404 for one that is not there."""
    pages = documentation.pages()
    if slug not in pages:
        raise Http404(f"There is no page “{slug}” in the documentation.")
    shown = pages[slug]
    in_order = [None, *pages.values(), None]
    place = in_order.index(shown)
    context = {
        "sections": documentation.sections(pages),
        "page_shown": shown,
        "body": mark_safe(shown.html),  # noqa: S308 - our own files, their HTML is escaped
        "before": in_order[place - 1],
        "after": in_order[place + 1],
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
