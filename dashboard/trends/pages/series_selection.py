"""Selection in the address of a series page: which series, of what time, and how drawn."""

from datetime import UTC, datetime

from django.http import HttpRequest

from dashboard.language.metrics import METRICS, Metric
from dashboard.language.reading import read_moment
from dashboard.models import Benchmark
from dashboard.results.selectors import rollup, trend
from dashboard.results.selectors.trend import Window
from dashboard.trends.selectors.series_selection import (
    SAMPLED,
    ChartOptions,
    SeriesSelection,
    default_metric,
)
from dashboard.ui.locations import offered
from dashboard.ui.pages import parameters
from dashboard.ui.rows import one
from dashboard.ui.series_scales import SCALES

_MOST_DEFAULT_CONFIGS = 6


def select(request: HttpRequest, name: str) -> SeriesSelection:
    """Reads the address. Raises Http404 for an unknown benchmark, WithoutData for a
    place that did not measure it. Two to four queries."""
    benchmark = one(Benchmark.objects.all(), "benchmark", name=name)
    places = rollup.series_locations(benchmark)
    place = parameters.place(request, places)
    places = offered(places, place)
    recorded = trend.recorded_series(benchmark, place) if place else trend.TrendSeries([])

    metric = parameters.one_of(request, "metric", list(METRICS)) or default_metric(recorded)
    others = recorded.metrics() - {metric}
    second = parameters.one_of(request, "second", [key for key in METRICS if key in others])
    configs = request.GET.getlist("config")
    series = recorded.choose(metric, configs)
    if not configs:
        series = series[:_MOST_DEFAULT_CONFIGS]
    window = Window(_moment(request, "from"), _moment(request, "to"))
    return SeriesSelection(
        benchmark=benchmark,
        places=places,
        place=place,
        recorded=recorded,
        metric=METRICS[metric],
        series=series,
        within=window,
        second=METRICS.get(second),
    )


def _moment(request: HttpRequest, name: str) -> datetime | None:
    """A time of the address, UTC unless it says another zone; None for what is not a time."""
    try:
        return read_moment(request.GET.get(name, ""), UTC)
    except ValueError:
        return None


def chart_options(request: HttpRequest, metric: Metric, default_axis: str = "") -> ChartOptions:
    """default_axis: "release" where time is asked for by its name."""
    axis = parameters.one_of(request, "axis", ["time", "release"]) or default_axis
    return ChartOptions(
        axis="" if axis == "time" else axis,
        scale=parameters.one_of(request, "scale", list(SCALES)),
        apart=parameters.one_of(request, "layout", ["multiples"]) == "multiples",
        samples="samples" in request.GET and metric.key in SAMPLED,
        has_legend=request.GET.get("legend") != "none",
    )
