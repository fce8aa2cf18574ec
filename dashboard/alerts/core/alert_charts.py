"""The Plotly figure of one alert: the change among its points. Pure.

dashboard/ui/charts.py says how figures are made here.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.catalog.core.versions import variant_of
from dashboard.language.durations import duration
from dashboard.language.metrics import Metric
from dashboard.language.moments import HOVERED
from dashboard.language.wording import axis_title
from dashboard.ui.charts import ChartLine, Figure
from dashboard.ui.downsampling import Floats

_CONTROL_SLOT = 0  # eager's colour on every page
_FEWEST_APART = 4  # points: fewer are seen however far apart they are
_BASE_POINTS = 64  # newest points before the change that make the level before it
_MARGIN = 0.05  # of the drawn values, above and below them
_MOST_TICKS = 3  # of "23:59:59", side by side on a phone
_SHORT_MS = 1_800_000  # of a time axis, whose ticks have seconds
_PAUSE_MARGIN = 0.1  # of the time that is drawn: what is left of a pause on either side


@dataclass(frozen=True, slots=True)
class Step:
    """Step that the detector saw in a series: from ``at_ms`` on the level differs by ``effect``.

    at_ms: milliseconds since 1970, UTC.
    low, high: the interval of ``effect``.
    unit: "percent" of the level before, or the plain "difference".
    since_ms: from then on the level before was held; None: from the first point.
    until_ms: from then on the level is back, or another; None: it is held.
    variants: of the builds before and after, "" of a plain one: a level is of its own variant's
        points alone. None where a build is not known.
    """

    at_ms: int
    effect: float | None
    low: float | None
    high: float | None
    unit: str
    until_ms: int | None = None
    since_ms: int | None = None
    variants: tuple[str, str] | None = None

    def compares(self, build: str) -> bool:
        """Test whether the build has the settings of one of the two."""
        return self.variants is None or variant_of(build) in self.variants


def change_figure(line: ChartLine, control: ChartLine | None, step: Step, metric: Metric) -> Figure:
    """The points of a series and of its eager control around a change.

    They are drawn as change from the median before it, in percent; counts, and series whose median
    is not above 0, in their own unit, and no control whose median is not. Lines are the medians of
    the points before and after, the first point of the new level a vertical line.
    """
    level = median_before(line, step)
    shown = [line]
    if step.unit == "percent" and level is not None and level > 0:
        points = [_points(line, metric, level, line.slot, "solid")]
        control_level = median_before(control, step) if control is not None else None
        if control is not None and control_level is not None and control_level > 0:
            points.append(_points(control, metric, control_level, _CONTROL_SLOT, "dot"))
            shown.append(control)
        levels = _levels(line, step, level)
        layout = _layout("change from the level before, %", "%", step)
    else:
        points = [_points(line, metric, None, line.slot, "solid")]
        levels = _levels(line, step, None)
        layout = _layout(axis_title(metric), "", step)
    layout["yaxis"] |= _range_of_levels(points, [np.logical_or(*sides(of, step)) for of in shown])
    _skip_pause(layout, line)
    return {"data": [*levels, *points], "layout": layout}


def _range_of_levels(
    points: Sequence[dict[str, Any]], of_levels: Sequence[NDArray[np.bool_]]
) -> dict[str, Any]:
    """The axis of values fits the two levels, so that other points do not squash the change;
    nothing where each point belongs to one of them.
    """
    if all(mask.all() for mask in of_levels):
        return {}
    compared = []
    for trace, mask in zip(points, of_levels, strict=True):
        compared.append(trace["y"][mask & ~np.isnan(trace["y"])])
    values = np.concatenate(compared)
    if not len(values):
        return {}
    low, high = float(values.min()), float(values.max())
    margin = _MARGIN * (high - low or abs(high) or 1.0)
    return {"range": [low - margin, high + margin]}


def _skip_pause(layout: dict[str, Any], line: ChartLine) -> None:
    """Leave out a long time without points, and say how long it was."""
    ends = pause(line.at_ms)
    if ends is None:
        return
    start, end = ends
    label = _label(start, f"{duration((end - start) / 1000)} without a point")
    label |= {"textangle": -90, "y": 0.95, "yanchor": "top", "xanchor": "right"}
    layout["xaxis"] |= {"rangebreaks": [{"bounds": [start, end]}], **_ticks(line.at_ms, start, end)}
    layout["shapes"].append(_mark(start, "dot"))
    layout["annotations"].append(label)


def _ticks(at_ms: NDArray[np.int64], start: int, end: int) -> dict[str, Any]:
    """Ticks at points on both sides of the pause: Plotly puts them by the time with the pause."""
    times = np.unique(at_ms)
    drawn = np.where(times > start, times - (end - start), times)
    length = int(drawn[-1] - drawn[0])
    ticks: list[int] = []
    last = -length
    for at, place in zip(times.tolist(), drawn.tolist(), strict=True):
        if place - last >= length / _MOST_TICKS:
            ticks.append(at)
            last = place
    time = "%H:%M:%S" if length < _SHORT_MS else "%H:%M"
    return {"tickvals": ticks, "tickformat": f"{time}<br>%-d %b"}


def pause(at_ms: NDArray[np.int64]) -> tuple[int, int] | None:
    """Between what times nothing has to be drawn: a pause that is longer than all other time."""
    times = np.unique(at_ms)
    apart = np.diff(times)
    rest = int(apart.sum() - apart.max(initial=0))
    if len(times) < _FEWEST_APART or apart.max() <= rest:
        return None
    longest, margin = int(apart.argmax()), max(1, int(_PAUSE_MARGIN * rest))
    return int(times[longest]) + margin, int(times[longest + 1]) - margin


def sides(line: ChartLine, step: Step) -> tuple[NDArray[np.bool_], NDArray[np.bool_]]:
    """Mark the points of the level before, and those of the one after."""
    before, after = line.at_ms < step.at_ms, line.at_ms >= step.at_ms
    if step.variants is not None:
        variants = np.array([variant_of(build) for build in line.build])
        before &= variants == step.variants[0]
        after &= variants == step.variants[1]
    if step.since_ms is not None:
        before &= line.at_ms >= step.since_ms
    if step.until_ms is not None:
        after &= line.at_ms < step.until_ms
    return before, after


def median_before(line: ChartLine, step: Step) -> float | None:
    """The median of the newest values before the change; None where there is none."""
    return _median(line.value[sides(line, step)[0]], newest=_BASE_POINTS)


def median_after(line: ChartLine, step: Step) -> float | None:
    """The median of the values from the change on, until they are back; None without any."""
    return _median(line.value[sides(line, step)[1]], newest=len(line.value))


def _median(values: Floats, newest: int) -> float | None:
    measured = values[~np.isnan(values)][-newest:]
    return float(np.median(measured)) if len(measured) else None


def _points(
    line: ChartLine, metric: Metric, level: float | None, slot: int, dash: str
) -> dict[str, Any]:
    value = line.value if level is None else percent_of(line.value, level)
    texts = []
    for number, build in zip(line.value, line.build, strict=True):
        texts.append(f"{number:.4g} {metric.unit}<br>{build}")
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": line.at_ms,
        "y": value,
        "customdata": list(line.job),
        "text": texts,
        "connectgaps": False,
        "line": {"width": 1.5, "dash": dash},
        "marker": {"size": 5},
        "hovertemplate": f"%{{text}}<br>{HOVERED}<extra>{line.name}</extra>",
        "meta": {"slot": slot, "role": "line"},
    }


def percent_of(value: Floats, level: float) -> Floats:
    """Compute how far values lie from ``level``, in percent of it."""
    percent: Floats = 100 * (value / level - 1)
    return percent


def _levels(line: ChartLine, step: Step, level: float | None) -> list[dict[str, Any]]:
    """The levels before and after, through the points. level: what they are percent of; None: they
    are drawn in their own unit.
    """
    before, after = median_before(line, step), median_after(line, step)
    if before is None or after is None:
        return []
    if level:
        before, after = (100 * (value / level - 1) for value in (before, after))
    first, last = int(line.at_ms.min()), int(line.at_ms[sides(line, step)[1]].max())
    held = first if step.since_ms is None else max(first, step.since_ms)
    until = last if step.until_ms is None else step.until_ms
    return [
        _level("level before", line.slot, (held, step.at_ms), before),
        _level("level after", line.slot, (step.at_ms, until), after),
    ]


def _level(name: str, slot: int, ends: tuple[int, int], at: float) -> dict[str, Any]:
    return {
        "type": "scatter",
        "mode": "lines",
        "name": name,
        "showlegend": False,
        "hoverinfo": "skip",
        "x": list(ends),
        "y": [at, at],
        "line": {"width": 4},
        "opacity": 0.6,
        "meta": {"slot": slot, "role": "line"},
    }


def _layout(title: str, suffix: str, step: Step) -> dict[str, Any]:
    return {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.16, "x": 0},
        "margin": {"l": 64, "r": 16, "t": 48, "b": 40},
        "shapes": [_mark(step.at_ms)],
        "annotations": [_label(step.at_ms, "first point of the new level")],
        "xaxis": {"type": "date", "tickangle": 0},  # as in charts.py
        "yaxis": {
            "title": {"text": title},
            "automargin": True,
            "ticksuffix": suffix,
        },
    }


def _mark(at: int, dash: str = "dash") -> dict[str, Any]:
    return {
        "type": "line",
        "x0": at,
        "x1": at,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 1.5, "dash": dash},
    }


def _label(at: int, text: str) -> dict[str, Any]:
    return {
        "x": at,
        "yref": "paper",
        "y": 1,
        "yanchor": "bottom",
        "xanchor": "center",
        "text": text,
        "showarrow": False,
        "font": {"size": 11},
    }
