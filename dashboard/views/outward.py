"""What other people's pages show of this site: badges, charts in frames, and how links to them
unfold.

These addresses alone may be framed by other sites. On a site that is not readable by everybody they
need the key of a person, as the feed of alerts does: a frame elsewhere is sent no cookie.
"""

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec
from urllib.parse import urlsplit

from csp.decorators import csp_replace, csp_update
from django.conf import settings
from django.contrib.auth.decorators import login_not_required
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseBase,
    JsonResponse,
    QueryDict,
)
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import conditional_page

from dashboard.badges import badge as drawn
from dashboard.metrics import METRICS
from dashboard.selectors import alerts, outward
from dashboard.views import parameters, series_data
from dashboard.views.alerts import chosen_filters
from dashboard.views.feed_keys import key_of, may_read
from dashboard.views.series_selection import select

Arguments = ParamSpec("Arguments")
View = Callable[Arguments, HttpResponseBase]

FRAMED = {"frame-ancestors": ["*"]}
FRESH_S = 300  # proxies of code hosts keep a badge so long
SIZE = (800, 480)  # of an embedded chart, unless the page that embeds it says less
NEEDS_KEY = (
    "This address needs a key: sign in, open the page and copy the address that is "
    "meant for other pages."
)


def for_readers(view: View[Arguments]) -> View[Arguments]:
    """Answers who may read the site, or has a person's key."""

    @wraps(view)
    def answer(*args: Arguments.args, **kwargs: Arguments.kwargs) -> HttpResponseBase:
        request = args[0]
        if not (isinstance(request, HttpRequest) and may_read(request)):
            return HttpResponse(NEEDS_KEY, status=403, content_type="text/plain")
        return view(*args, **kwargs)

    return login_not_required(answer)


@for_readers
@conditional_page
@cache_control(max_age=FRESH_S)
def badge(request: HttpRequest, name: str, config: str) -> HttpResponse:
    """The newest value of a case, or how it fails."""
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or "speedup"]
    place = {key: request.GET.get(key, "").replace("\0", "") for key in ("machine", "track")}
    text, tone = outward.said(outward.newest(name, config, metric, **place), metric)
    label = (
        request.GET.get("label", "")[:60]
        or f"{name.partition('.')[0]} {config} {metric.label.lower()}"
    )
    return _svg(drawn(label, text, tone))


@for_readers
@conditional_page
@cache_control(max_age=FRESH_S)
def alerts_badge(request: HttpRequest) -> HttpResponse:
    """How many alerts are open, with the inbox's filters."""
    count = alerts.listing(chosen_filters(request)[1]).count()
    text = f"{count} open" if count else "none open"
    return _svg(
        drawn(
            request.GET.get("label", "")[:60] or "torch.compile alerts",
            text,
            "bad" if count else "good",
        )
    )


def _svg(text: str) -> HttpResponse:
    return HttpResponse(text, content_type="image/svg+xml; charset=utf-8")


@for_readers
@xframe_options_exempt
@csp_replace(FRAMED)
@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def embed(request: HttpRequest, name: str) -> HttpResponse:
    """The trend of a benchmark, as its page draws it, for a frame: `theme` is light, dark, or the
    reader's own.
    """
    selection = select(request, name)
    asked = _without(request.GET, "key", "theme")
    context = {
        "selection": selection,
        "theme": parameters.one_of(request, "theme", ["light", "dark"]),
        "page": f"{reverse('series', args=[name])}?{asked}",
        "data": f"{reverse('embed_data', args=[name])}?{_without(request.GET, 'theme')}",
    }
    return render(request, "embed.html", context)


@for_readers
def embed_data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure of `embed`."""
    return series_data.data(request, name)


def _without(asked: QueryDict, *names: str) -> str:
    kept = asked.copy()
    for name in names:
        kept.pop(name, None)
    return kept.urlencode()


@for_readers
def oembed(request: HttpRequest) -> JsonResponse:
    """How a link to a page of this site unfolds in an editor that knows oEmbed 1.0
    (https://oembed.com).
    """
    if request.GET.get("format", "json") != "json":
        return JsonResponse({"detail": "Only format=json is spoken here."}, status=501)
    name, query = _series_of(request.GET.get("url", ""))
    asked = QueryDict(query, mutable=True)
    if key := request.GET.get("key") or key_of(request.user):
        asked["key"] = key
    address = f"{settings.SITE_URL}{reverse('embed', args=[name])}?{asked.urlencode()}"
    width, height = (
        _at_most(request, which, size)
        for which, size in zip(("maxwidth", "maxheight"), SIZE, strict=True)
    )
    title = f"{name} on Compilewatch"
    frame = {"address": address, "width": width, "height": height, "title": title}
    html = render_to_string("_frame.html", frame)
    return JsonResponse(
        {
            "version": "1.0",
            "type": "rich",
            "title": title,
            "provider_name": "Compilewatch",
            "provider_url": settings.SITE_URL,
            "width": width,
            "height": height,
            "html": html,
        }
    )


def _series_of(url: str) -> tuple[str, str]:
    """The benchmark and the query of a series page's address. Raises Http404: nothing else
    unfolds.
    """
    try:
        parts = urlsplit(url)
        found = resolve(parts.path)
    except (ValueError, Resolver404):
        found = None
    if found is None or found.url_name != "series":
        raise Http404("Only the pages of series unfold: give `url` the address of one.")
    return str(found.kwargs["name"]), parts.query


def _at_most(request: HttpRequest, name: str, size: int) -> int:
    wanted = request.GET.get(name, "")
    return max(200, min(size, int(wanted))) if wanted.isdecimal() and len(wanted) < 6 else size
