"""What other people's pages show of this site: badges, charts in frames, and how links to them
unfold.

These addresses alone may be framed by other sites. On a site that is not readable by everybody they
need the key of a person, as the feed of alerts does: a frame elsewhere is sent no cookie.
"""

from urllib.parse import urlsplit

from csp.decorators import csp_replace, csp_update
from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse, JsonResponse, QueryDict
from django.shortcuts import render
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve, reverse
from django.views.decorators.cache import cache_control
from django.views.decorators.clickjacking import xframe_options_exempt
from django.views.decorators.http import conditional_page

from dashboard.language.metrics import METRICS
from dashboard.trends.pages import series_data
from dashboard.trends.pages.series_selection import chart_options, select
from dashboard.trends.selectors import badges
from dashboard.trends.selectors.series_page import default_axis
from dashboard.ui.badges import FRESH_S, badge_response
from dashboard.ui.pages import parameters
from dashboard.ui.pages.feed_keys import for_readers, key_of

FRAMED = {"frame-ancestors": ["*"]}
WIDTH, HEIGHT = 800, 480  # of an embedded chart, unless the page that embeds it says less
_LEAST_SIZE = 200
_MOST_DIGITS = 5


@for_readers
@conditional_page
@cache_control(max_age=FRESH_S)
def badge(request: HttpRequest, name: str, config: str) -> HttpResponse:
    """The newest value of a case, or how it fails."""
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or "speedup"]
    place = {key: request.GET.get(key, "").replace("\0", "") for key in ("machine", "track")}
    series = badges.newest_series(name, config, metric, **place)
    text, tone = badges.badge_text(series, metric)
    label = request.GET.get("label", "")[:60]
    if not label:
        model = name.partition(".")[0]
        label = f"{model} {config} {metric.label.lower()}"
    return badge_response(label, text, tone)


@for_readers
@xframe_options_exempt
@csp_replace(FRAMED)
@csp_update(settings.CHART_POLICY)  # type: ignore[arg-type]  # typed for views without arguments
def embed(request: HttpRequest, name: str) -> HttpResponse:
    """The trend of a benchmark for a frame, by the axis of its page; `theme` is light, dark, or the
    reader's own.
    """
    selection = select(request, name)
    options = chart_options(request, selection.metric, default_axis(selection))
    page_query = _without(request.GET, "key", "theme")
    drawn = request.GET.copy()
    drawn["axis"] = options.axis or "time"
    data_query = _without(drawn, "theme")
    context = {
        "selection": selection,
        "options": options,
        "theme": parameters.one_of(request, "theme", ["light", "dark"]),
        "page": f"{reverse('series', args=[name])}?{page_query}",
        "data": f"{reverse('embed_data', args=[name])}?{data_query}",
    }
    return render(request, "trends/embed.html", context)


@for_readers
def embed_data(request: HttpRequest, name: str) -> HttpResponse:
    """The figure of `embed`."""
    return series_data.data(request, name)


def _without(query: QueryDict, *names: str) -> str:
    kept = query.copy()
    for name in names:
        kept.pop(name, None)
    return kept.urlencode()


@for_readers
def oembed(request: HttpRequest) -> JsonResponse:
    """How a link to this site unfolds in an editor that knows oEmbed 1.0 (https://oembed.com)."""
    if request.GET.get("format", "json") != "json":
        return JsonResponse({"detail": "Only format=json is spoken here."}, status=501)
    name, query = _series_of(request.GET.get("url", ""))
    embedded = QueryDict(query, mutable=True)
    if key := request.GET.get("key") or key_of(request.user):
        embedded["key"] = key
    width = _at_most(request, "maxwidth", WIDTH)
    height = _at_most(request, "maxheight", HEIGHT)
    title = f"{name} on Compilewatch"
    frame = {
        "address": f"{settings.SITE_URL}{reverse('embed', args=[name])}?{embedded.urlencode()}",
        "width": width,
        "height": height,
        "title": title,
    }
    document = {
        "version": "1.0",
        "type": "rich",
        "title": title,
        "provider_name": "Compilewatch",
        "provider_url": settings.SITE_URL,
        "width": width,
        "height": height,
        "html": render_to_string("trends/_frame.html", frame),
    }
    return JsonResponse(document)


def _series_of(url: str) -> tuple[str, str]:
    """The benchmark and the query of a series page's address.

    Raises Http404 for any other page: nothing else unfolds.
    """
    try:
        parts = urlsplit(url)
        match = resolve(parts.path)
    except (ValueError, Resolver404):
        match = None
    if match is None or match.url_name != "series":
        raise Http404("Only the pages of series unfold: give `url` the address of one.")
    return str(match.kwargs["name"]), parts.query


def _at_most(request: HttpRequest, name: str, size: int) -> int:
    limit = request.GET.get(name, "")
    if not limit.isdecimal() or len(limit) > _MOST_DIGITS:
        return size
    return max(_LEAST_SIZE, min(size, int(limit)))
