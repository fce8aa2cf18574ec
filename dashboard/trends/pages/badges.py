"""The badge of a case, for other people's pages.

On a site that not everybody may read it needs a person's key, as the feed of alerts does.
"""

from django.http import HttpRequest, HttpResponse
from django.views.decorators.cache import cache_control
from django.views.decorators.http import conditional_page

from dashboard.language.metrics import METRICS
from dashboard.trends.selectors import badges
from dashboard.ui.badges import FRESH_S, badge_response
from dashboard.ui.pages import parameters
from dashboard.ui.pages.feed_keys import for_readers


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
