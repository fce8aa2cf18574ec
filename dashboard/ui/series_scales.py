"""A trend on another scale: as percent of where it began, or on a logarithmic axis. Pure."""

from dataclasses import replace
from typing import Any

import numpy as np

from dashboard.language.metrics import Metric
from dashboard.ui.charts import ChartLine, Figure

SCALES = {"": "plain", "relative": "relative", "log": "logarithmic"}
_FIRST = 5  # values whose median is the level that a relative trend begins at


def relative(line: ChartLine) -> ChartLine:
    """``line`` as the change, in percent, from the median of its first five values; as it is where
    that is 0.
    """
    known = line.value[~np.isnan(line.value)]
    base = float(np.median(known[:_FIRST])) if len(known) else 0.0
    if not base:
        return line
    scaled: dict[str, Any] = {
        name: 100 * (getattr(line, name) / base - 1) for name in ("value", "low", "high")
    }
    return replace(line, **scaled)


def relative_metric(metric: Metric) -> Metric:
    """What a relative trend is labelled with."""
    return replace(metric, label=f"{metric.label}, change", unit="%", aggregate="median")


def logarithmic(figure: Figure) -> Figure:
    """``figure`` with a logarithmic axis of values: what is 0 or less is not drawn."""
    layout = figure["layout"]
    axis = {key: value for key, value in layout["yaxis"].items() if key != "rangemode"}
    return {**figure, "layout": {**layout, "yaxis": {**axis, "type": "log"}}}
