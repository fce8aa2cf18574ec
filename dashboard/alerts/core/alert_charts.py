"""Plotly figures of one alert: the change among its points, and the pairs that confirmed it. Pure;
see charts.py.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from math import isfinite
from statistics import fmean, geometric_mean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.language.metrics import Metric
from dashboard.language.wording import duration
from dashboard.ui.charts import SLOTS, ChartLine, Figure
from dashboard.ui.downsampling import Floats

_CONTROL_SLOT = 0  # eager's colour on every page
_FEWEST_APART = 4  # points: fewer are seen however far apart they are
_BASE_POINTS = 64  # newest points before the change that make the level before it
_PAUSE_MARGIN = 0.1  # of the time that is drawn: what is left of a pause on either side
_SYMBOLS = {"base": "circle", "new": "diamond"}


@dataclass(frozen=True, slots=True)
class Step:
    """What the detector said of a series: from ``at_ms`` on the level differs by ``effect``,
    between low and high.

    unit: "percent" of the level before, or the plain "difference". at_ms: milliseconds since 1970,
        UTC.
    level_before: the one that ``effect`` was estimated from; None where it was not kept.
    """

    at_ms: int
    effect: float | None
    low: float | None
    high: float | None
    unit: str
    level_before: float | None = None


@dataclass(frozen=True, slots=True)
class Process:
    """One process of a confirmation: its place in the drawn order from 1, which build it measured,
    and its value.
    """

    place: int
    arm: str  # base or new
    build: str
    value: float
    job: str


def change_figure(line: ChartLine, control: ChartLine | None, step: Step, metric: Metric) -> Figure:
    """The points of a series and of its eager control around a change, as percent of the level
    before it.

    Counts and series whose level is 0 are drawn in their own unit. The levels before and after are
    lines, the interval of the effect a band, the first point of the new level a vertical line.
    """
    level = level_before(line, step)
    relative = step.unit == "percent" and bool(level)
    shown = [_points(line, metric, level if relative else None, line.slot, "solid")]
    if control is not None and relative and (base := median_before(control, step)):
        shown.append(_points(control, metric, base, _CONTROL_SLOT, "dot"))
    levels = _levels(line, step, 0.0 if relative else level)
    layout = _layout(metric, step, relative=relative)
    if ends := pause(line.at_ms):
        layout["xaxis"]["rangebreaks"] = [{"bounds": list(ends)}]
        layout["shapes"] += [_mark(ends[0], "dot")]
        told = _label(ends[0], f"{duration((ends[1] - ends[0]) / 1000)} without a point")
        layout["annotations"] += [
            told | {"textangle": -90, "y": 0.95, "yanchor": "top", "xanchor": "right"}
        ]
    return {"data": [*levels, *shown], "layout": layout}


def pause(at_ms: NDArray[np.int64]) -> tuple[int, int] | None:
    """Between what times nothing has to be drawn: a pause longer than all other time together would
    squeeze it.
    """
    times = np.unique(at_ms)
    apart = np.diff(times)
    rest = int(apart.sum() - apart.max(initial=0))
    if len(times) < _FEWEST_APART or apart.max() <= rest:
        return None
    longest, margin = int(apart.argmax()), max(1, int(_PAUSE_MARGIN * rest))
    return int(times[longest]) + margin, int(times[longest + 1]) - margin


def level_before(line: ChartLine, step: Step) -> float | None:
    """The level that the step is told from, so that levels and effect are of one estimate; else the
    median.
    """
    return median_before(line, step) if step.level_before is None else step.level_before


def median_before(line: ChartLine, step: Step) -> float | None:
    """The median of the newest values before the change; None where there is none."""
    values = line.value[line.at_ms < step.at_ms]
    values = values[~np.isnan(values)][-_BASE_POINTS:]
    return float(np.median(values)) if len(values) else None


def _points(
    line: ChartLine, metric: Metric, level: float | None, slot: int, dash: str
) -> dict[str, Any]:
    value = line.value if level is None else percent_of(line.value, level)
    own = [
        f"{number:.4g} {metric.unit}<br>{build}"
        for number, build in zip(line.value, line.build, strict=True)
    ]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": line.at_ms,
        "y": value,
        "customdata": list(line.job),
        "text": own,
        "connectgaps": False,
        "line": {"width": 1.5, "dash": dash},
        "marker": {"size": 5},
        "hovertemplate": f"%{{text}}<br>%{{x|%e %b %Y %H:%M}} UTC<extra>{line.name}</extra>",
        "meta": {"slot": slot, "role": "line"},
    }


def percent_of(value: Floats, level: float) -> Floats:
    """How far values lie from ``level``, in percent of it."""
    found: Floats = 100 * (value / level - 1)
    return found


def _levels(line: ChartLine, step: Step, before: float | None) -> list[dict[str, Any]]:
    """The level before, the level after, and the band in which the level after lies."""
    if before is None or step.effect is None or not len(line.at_ms):
        return []
    first, last = int(line.at_ms.min()), int(line.at_ms.max())
    after = before + step.effect
    told = [_level("level before", line.slot, (first, step.at_ms), before)]
    if (
        step.low is not None
        and step.high is not None
        and isfinite(step.low)
        and isfinite(step.high)
    ):
        told.append(_band(line.slot, (step.at_ms, last), before + step.low, before + step.high))
    return [*told, _level("level after", line.slot, (step.at_ms, last), after)]


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


def _band(slot: int, ends: tuple[int, int], low: float, high: float) -> dict[str, Any]:
    start, end = ends
    return {
        "type": "scatter",
        "mode": "lines",
        "fill": "toself",
        "hoverinfo": "skip",
        "showlegend": False,
        "x": [start, end, end, start],
        "y": [low, low, high, high],
        "line": {"width": 0},
        "meta": {"slot": slot, "role": "band"},
    }


def _layout(metric: Metric, step: Step, *, relative: bool) -> dict[str, Any]:
    title = (
        f"{metric.label}, % of the level before"
        if relative
        else f"{metric.label}, {metric.unit}".rstrip(", ")
    )
    return {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.16, "x": 0},
        "margin": {"l": 64, "r": 16, "t": 28, "b": 40},
        "shapes": [_mark(step.at_ms)],
        "annotations": [_label(step.at_ms, "first point of the new level")],
        "xaxis": {"type": "date", "tickangle": 0},  # as in charts.py
        "yaxis": {
            "title": {"text": title},
            "automargin": True,
            "ticksuffix": " %" if relative else "",
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


def pairs_figure(processes: Sequence[Process], metric: Metric) -> Figure:
    """Each process of a confirmation in the order measured, as percent of base's mean; a line at
    each mean.
    """
    arms = {arm: [process for process in processes if process.arm == arm] for arm in _SYMBOLS}
    level = _mean(arms["base"]) or _mean(arms["new"])
    if not level:
        return {"data": [], "layout": {}}
    traces = [_arm(name, found, metric, level) for name, found in arms.items() if found]
    means = [
        _level(
            f"mean of {name}",
            _slot(name),
            (1, len(processes)),
            100 * ((_mean(found) or level) / level - 1),
        )
        for name, found in arms.items()
        if found
    ]
    layout = {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "margin": {"l": 64, "r": 16, "t": 12, "b": 48},
        "xaxis": {
            "title": {"text": "process, in the order measured"},
            "dtick": max(1, len(processes) // 12),
        },
        "yaxis": {
            "title": {"text": f"{metric.label}, % of base"},
            "automargin": True,
            "ticksuffix": " %",
        },
    }
    return {"data": [*means, *traces], "layout": layout}


def _mean(processes: Iterable[Process]) -> float | None:
    """The geometric mean, whose ratio is what the confirmation tells; of values that it cannot
    take, the plain one.
    """
    values = [process.value for process in processes]
    if not values:
        return None
    return geometric_mean(values) if min(values) > 0 else fmean(values)


def _slot(arm: str) -> int:
    return (1 if arm == "base" else 3) % SLOTS


def _arm(name: str, found: Sequence[Process], metric: Metric, level: float) -> dict[str, Any]:
    values = np.array([process.value for process in found])
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{name}: {found[0].build}",
        "x": [process.place for process in found],
        "y": percent_of(values, level),
        "customdata": [process.job for process in found],
        "text": [f"{process.value:.4g} {metric.unit}" for process in found],
        "marker": {"size": 10, "symbol": _SYMBOLS[name]},
        "hovertemplate": f"%{{text}}<extra>{name}</extra>",
        "meta": {"slot": _slot(name), "role": "line"},
    }
