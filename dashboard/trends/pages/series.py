"""The trend of one benchmark as a page. series_data.py has its figures."""

from dataclasses import dataclass

from csp.decorators import csp_update
from django.conf import settings
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render

from dashboard.advisor.selectors.advice_page import LENGTHS, config_table
from dashboard.language.metrics import STARTS, Metric, Start
from dashboard.models import Config
from dashboard.trends.pages.series_selection import chart_options, select
from dashboard.trends.selectors.series_page import series_page
from dashboard.trends.selectors.series_selection import ChartOptions, SeriesSelection
from dashboard.ui.config_looks import slots
from dashboard.ui.pages.without_data import offers_what_there_is
from dashboard.ui.series_scales import SCALES

# What the form folds away, unless the address sets one of them
_FURTHER = ("scale", "layout", "samples")


@dataclass(frozen=True, slots=True)
class TrendChart:
    """One of the charts above each other.

    query: of the address of its figure. config: its only one, in a chart for each config.
    """

    metric: Metric
    query: str
    config: Config | None = None


@csp_update(settings.CHART_POLICY)
@offers_what_there_is
def show(request: HttpRequest, name: str) -> HttpResponse:
    """The newest data in words and as a table; the figures come in further requests."""
    selection = select(request, name)
    page = series_page(selection, more_rows="rows" in request.GET)
    options = chart_options(request, selection.metric, page["default_axis"])
    together = [] if options.apart else selection.series
    context = {
        "selection": selection,
        "options": options,
        "scales": SCALES,
        "has_further": any(request.GET.get(name) for name in _FURTHER),
        "slots": slots(series.config.position for series in together),
        "charts": _charts(request, selection, options),
        **page,
    }
    if selection.place and page["total"]:
        start: Start = next((each for each in STARTS if each == request.GET.get("start")), "cold")
        machine, label = selection.place.machine.key, request.GET.get("build", "")
        context |= {
            "config_table": config_table(selection.benchmark, machine, label, start),
            "lengths": LENGTHS,
            "starts": STARTS,
        }
    return render(request, "trends/series.html", context)


def _charts(
    request: HttpRequest, selection: SeriesSelection, options: ChartOptions
) -> list[TrendChart]:
    """A chart for each metric; for each config and metric where they are apart."""
    configs: list[Config | None] = [None]
    if options.apart:
        configs = [series.config for series in selection.series]
    charts = []
    for config in configs:
        for number, part in enumerate(selection.parts):
            query = request.GET.copy()
            query["metric"] = part.metric.key
            query["axis"] = options.axis or "time"
            if part.second:
                query["second"] = part.second.key
            if config:
                query["config"] = config.name
            if number or len(selection.series) == 1:
                query["legend"] = "none"
            charts.append(TrendChart(part.metric, query.urlencode(), config))
    return charts
