"""Selection of one benchmark's series, their stretch of time, and how they are drawn."""

from dataclasses import dataclass, replace

from dashboard.language.metrics import METRICS, Metric
from dashboard.models import Benchmark, Series
from dashboard.results.selectors.trend import TrendSeries, Window
from dashboard.ui.charts import ChartLine
from dashboard.ui.locations import SeriesLocation

SAMPLED = ("latency_ms", "eager_latency_ms")  # metrics that raw samples are made of
_DEFAULT_METRIC = "latency_ms"


@dataclass(frozen=True, slots=True)
class SeriesSelection:
    """Selected series, and their time.

    places: where the benchmark was measured. recorded: all its series at the place.
    second: the metric below the first one, if there is one.
    """

    benchmark: Benchmark
    places: list[SeriesLocation]
    place: SeriesLocation | None
    recorded: TrendSeries
    metric: Metric
    series: list[Series]
    within: Window
    second: Metric | None = None

    @property
    def configs(self) -> set[str]:
        return {series.config.name for series in self.series}

    @property
    def other(self) -> "SeriesSelection | None":
        """The same configs in the second metric; None without one."""
        if self.second is None:
            return None
        series = []
        if self.series:
            series = self.recorded.choose(self.second.key, self.configs)
        return replace(self, metric=self.second, series=series, second=self.metric)

    @property
    def parts(self) -> list["SeriesSelection"]:
        """The selection in its first metric, and in its second one."""
        return [part for part in (self, self.other) if part]

    def lines(self, newest: int | None = None) -> list[ChartLine]:
        """The data of the series. newest: only so many of each. One query."""
        return self.recorded.lines(self.series, newest=newest, within=self.within)


@dataclass(frozen=True, slots=True)
class ChartOptions:
    """Options for drawing them.

    axis: "release", or empty: time. scale: of SCALES. apart: a chart for each config.
    has_legend: not where the chart above has it.
    """

    axis: str
    scale: str
    apart: bool
    samples: bool
    has_legend: bool = True


def default_metric(recorded: TrendSeries) -> str:
    """The latency where it was measured; else the first metric that was."""
    measured = recorded.metrics()
    for key in (_DEFAULT_METRIC, *METRICS):
        if key in measured:
            return key
    return _DEFAULT_METRIC
