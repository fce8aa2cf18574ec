"""A trend on another scale: as percent of where it began, or on a logarithmic axis. Pure."""

from dataclasses import replace

import numpy as np

from dashboard.language.metrics import Metric
from dashboard.ui.charts import ChartLine, Figure

SCALES = {"": "plain", "relative": "relative", "log": "logarithmic"}
_FIRST = 5  # values whose median is the level that a relative trend begins at


def relative(line: ChartLine) -> ChartLine:
    """``line`` as percent of change from its first five values' median, if that is not 0; each
    segment by itself.
    """
    base = np.ones(len(line.value))
    is_passed = ~np.isnan(line.value)
    for version in np.unique(line.versions):
        is_segment = line.versions == version
        passed = line.value[is_passed & is_segment]
        level = float(np.median(passed[:_FIRST])) if len(passed) else 0.0
        if len(passed) and not level:
            return line
        base[is_segment] = level or 1.0
    return replace(
        line,
        value=100 * (line.value / base - 1),
        low=100 * (line.low / base - 1),
        high=100 * (line.high / base - 1),
    )


def relative_metric(metric: Metric) -> Metric:
    """The metric that labels a relative trend."""
    return replace(metric, label=f"{metric.label}, change", unit="%", aggregate="median")


def logarithmic(figure: Figure) -> Figure:
    """``figure`` with a logarithmic axis of values; values of 0 or less are not drawn."""
    layout = figure["layout"]
    axis = {key: value for key, value in layout["yaxis"].items() if key != "rangemode"}
    return {**figure, "layout": {**layout, "yaxis": {**axis, "type": "log"}}}
