"""What the address of a series page asks for: which series, which stretch of time, and how they are
drawn.
"""

from dataclasses import dataclass
from datetime import UTC, datetime

from django.http import HttpRequest
from django.shortcuts import get_object_or_404
from django.utils.dateparse import parse_datetime

from dashboard.language.metrics import METRICS, Metric
from dashboard.models import Benchmark, Series
from dashboard.results.selectors import rollup, trend
from dashboard.results.selectors.trend import Window
from dashboard.ui import locations
from dashboard.ui.pages import parameters
from dashboard.ui.series_scales import SCALES

_DEFAULT_METRIC = "latency_ms"
_MOST_DEFAULT_CONFIGS = 6
SAMPLED = ("latency_ms", "eager_latency_ms")  # metrics that raw samples are made of


@dataclass(frozen=True, slots=True)
class Selection:
    """Which series, and when."""

    benchmark: Benchmark
    places: list[locations.SeriesLocation]
    place: locations.SeriesLocation | None
    known: trend.TrendSeries
    metric: Metric
    series: list[Series]
    within: Window


@dataclass(frozen=True, slots=True)
class Look:
    """How they are drawn. axis: "release", or empty: time. scale: of SCALES. apart: a chart for
    each config.
    """

    axis: str
    scale: str
    apart: bool
    samples: bool


def select(request: HttpRequest, name: str) -> Selection:
    """Reads the address. Raises Http404 for an unknown benchmark or place. Two to four queries."""
    benchmark = get_object_or_404(Benchmark, name=name)
    places = rollup.series_locations(benchmark)
    place = parameters.place(request, places)
    known = trend.recorded_series(benchmark, place) if place else trend.TrendSeries([])
    metric = METRICS[parameters.one_of(request, "metric", list(METRICS)) or _default_metric(known)]
    wanted = request.GET.getlist("config")
    chosen = known.choose(metric.key, wanted)
    series = chosen if wanted else chosen[:_MOST_DEFAULT_CONFIGS]
    return Selection(benchmark, places, place, known, metric, series, _window(request))


def _default_metric(known: trend.TrendSeries) -> str:
    measured = known.metrics()
    return (
        _DEFAULT_METRIC
        if _DEFAULT_METRIC in measured
        else next((key for key in METRICS if key in measured), _DEFAULT_METRIC)
    )


def _window(request: HttpRequest) -> Window:
    return Window(_moment(request.GET.get("from", "")), _moment(request.GET.get("to", "")))


def _moment(text: str) -> datetime | None:
    """A time of the address, UTC unless it says another zone; None for what is no time."""
    try:
        found = parse_datetime(text)
    except ValueError:
        return None
    return found if found is None or found.tzinfo else found.replace(tzinfo=UTC)


def look(request: HttpRequest, metric: Metric) -> Look:
    return Look(
        axis=parameters.one_of(request, "axis", ["release"]),
        scale=parameters.one_of(request, "scale", list(SCALES)),
        apart=parameters.one_of(request, "layout", ["multiples"]) == "multiples",
        samples="samples" in request.GET and metric.key in SAMPLED,
    )
