"""Intervals that are much wider than the others would flatten a trend: they are cut short. Pure."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from dashboard.language.metrics import Metric
from dashboard.ui.charts import ChartLine, Figure, Trace, series_figure, trace
from dashboard.ui.downsampling import Floats

_COLUMNS = ("value", "low", "high")
_USUAL_WIDTHS = 3  # so many usual half widths of an interval fit beyond the values


def clipped_figure(lines: Sequence[ChartLine], metric: Metric) -> Figure:
    """The trend of `series_figure`, an open triangle where an interval goes on beyond its end."""
    if not lines:
        return series_figure(lines, metric)
    every = [np.concatenate([getattr(line, name) for line in lines]) for name in _COLUMNS]
    bounds = interval_bounds(*every)
    if bounds is None:
        return series_figure(lines, metric)
    lowest, highest = bounds
    clipped = []
    marks: list[Trace] = []
    for line in lines:
        low, high = np.maximum(line.low, lowest), np.minimum(line.high, highest)
        clipped.append(replace(line, low=low, high=high))
        marks += _marks(line, np.flatnonzero(line.low < lowest), line.low, lowest, metric)
        marks += _marks(line, np.flatnonzero(line.high > highest), line.high, highest, metric)
    figure = series_figure(clipped, metric)
    figure["data"] += marks
    return figure


def interval_bounds(values: Floats, low: Floats, high: Floats) -> tuple[float, float] | None:
    """Return where the intervals of a chart end at the latest; None without values and intervals.

    Beyond the values there is half of what they span, or room for the usual interval.
    """
    half_widths = (high - low) / 2
    values, half_widths = values[~np.isnan(values)], half_widths[~np.isnan(half_widths)]
    if not len(values) or not len(half_widths):
        return None
    lowest, highest = float(values.min()), float(values.max())
    beyond = max((highest - lowest) / 2, _USUAL_WIDTHS * float(np.median(half_widths)))
    return lowest - beyond, highest + beyond


def _marks(
    line: ChartLine, places: NDArray[np.intp], ends: Floats, bound: float, metric: Metric
) -> list[Trace]:
    if not len(places):
        return []
    is_up = bool(ends[places[0]] > bound)
    return [
        trace(
            line,
            f"{line.name} interval",
            line.at_ms[places],
            np.full(len(places), bound),
            mode="markers",
            marker={"size": 9, "symbol": "triangle-up-open" if is_up else "triangle-down-open"},
            customdata=[line.job[place] for place in places.tolist()],
            text=[f"{end:.4g} {metric.unit}".rstrip() for end in ends[places].tolist()],
            hovertemplate="interval goes on to %{text}<extra></extra>",
        )
    ]
