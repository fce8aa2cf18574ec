"""Plotly figures as plain dicts of numpy arrays. Pure: data in, figure out.

Colours are not decided here: a trace says in ``meta.slot`` which colour of the stylesheet it takes,
so that one figure serves the light and the dark theme (static/compilewatch/charts.js paints it).
The second cue besides colour is the dash of the line and the shape of the marker.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.language.metrics import Metric
from dashboard.ui.downsampling import Floats, downsample

Figure = dict[str, Any]

SLOTS = 8  # colours in the stylesheet: --series-0 … --series-7
DASHES = ("solid", "dash", "dot", "dashdot", "longdash", "longdashdot")
# Purposes that are part of the trend; the others measure old builds again and would make the line
# go back and forth.
TREND_PURPOSES = frozenset({"scheduled", "manual", "import"})
PURPOSE_SYMBOLS = {
    "manual": "circle-open",
    "import": "square-open",
    "confirmation": "diamond-open",
    "bisection": "triangle-up-open",
}
_FEW_POINTS = 80  # up to this many the line carries a marker on each point
# Up to this many each point has whiskers too: a band around one point has no width
_FEW_INTERVALS = 12
# Of the time axis: a first point is not drawn on one of milliseconds
_LEAST_SPAN_MS, _WIDENED_MS = 60_000, 3_600_000
_MOST_BUILD_LINES = 60
MOST_LABELS = 8


@dataclass(frozen=True, slots=True)
class ChartLine:
    """What one config measured in one series, in time order; every sequence has one entry per
    datum.

    position: the config's place in the registry; decides colour and dash, so a config looks the
        same everywhere.
    at_ms: milliseconds since 1970, UTC. value, low, high: NaN where the case failed or no interval
        is known.
    environment: the id of what each was measured on, None where no result told it; empty: not read.
    """

    name: str
    position: int
    at_ms: NDArray[np.int64]
    value: Floats
    low: Floats
    high: Floats
    status: Sequence[str]
    purpose: Sequence[str]
    build: Sequence[str]
    job: Sequence[str]
    environment: Sequence[int | None] = ()

    @property
    def slot(self) -> int:
        return self.position % SLOTS

    @property
    def dash(self) -> str:
        return dash(self.position)


def dash(position: int) -> str:
    """The dash of the config at ``position``: configs whose colours could be mixed up differ in
    it.
    """
    return DASHES[position % len(DASHES)]


def series_figure(lines: Sequence[ChartLine], metric: Metric, most_points: int = 3000) -> Figure:
    """The trend of several configs: interval bands, lines, marks for what matters, a lane of
    failures, build marks.
    """
    traces: list[dict[str, Any]] = []
    for line in lines:
        traces += _band(line, most_points)
        traces.append(_trend(line, metric, most_points))
        traces += _other_purposes(line, metric)
    for row, line in enumerate(lines):
        traces += _failures(line, row)
    shapes, annotations = _build_marks(lines)
    has_failures = any(set(line.status) - {"pass"} for line in lines)
    layout = _trend_layout(metric, shapes, annotations, has_failures=has_failures)
    layout["xaxis"] |= _widened(lines)
    return {"data": traces, "layout": layout}


def _widened(lines: Sequence[ChartLine]) -> dict[str, Any]:
    """The time axis' range where all the data lie within a shorter time than it should show; else
    nothing.
    """
    times = [
        int(at) for line in lines if len(line.at_ms) for at in (line.at_ms.min(), line.at_ms.max())
    ]
    if not times or max(times) - min(times) >= _LEAST_SPAN_MS:
        return {}
    middle = (min(times) + max(times)) // 2
    return {"range": [middle - _WIDENED_MS, middle + _WIDENED_MS]}


def _in_trend(line: ChartLine) -> NDArray[np.intp]:
    return np.array(
        [index for index, purpose in enumerate(line.purpose) if purpose in TREND_PURPOSES], np.intp
    )


def _shown(line: ChartLine, most_points: int) -> NDArray[np.intp]:
    trend = _in_trend(line)
    return trend[downsample(line.value[trend], line.low[trend], line.high[trend], most_points)]


def _band(line: ChartLine, most_points: int) -> list[dict[str, Any]]:
    """The intervals as one trace of polygons, one for each stretch without a gap: forth along low,
    back along high.
    """
    shown = _shown(line, most_points)
    known = ~(np.isnan(line.low[shown]) | np.isnan(line.high[shown]))
    stretches = [
        part[known[part]]
        for part in np.split(np.arange(len(shown)), np.flatnonzero(~known))
        if known[part].any()
    ]
    if not stretches:
        return []
    x, low, high = line.at_ms[shown].astype(np.float64), line.low[shown], line.high[shown]
    gap = np.array([np.nan])
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "hoverinfo": "skip",
            "showlegend": False,
            "legendgroup": line.name,
            "fill": "toself",
            "x": np.concatenate(
                [array for part in stretches for array in (x[part], x[part][::-1], gap)]
            ),
            "y": np.concatenate(
                [array for part in stretches for array in (low[part], high[part][::-1], gap)]
            ),
            "line": {"width": 0},
            "meta": {"slot": line.slot, "role": "band"},
        }
    ]


def _trend(line: ChartLine, metric: Metric, most_points: int) -> dict[str, Any]:
    shown = _shown(line, most_points)
    few = len(shown) <= _FEW_POINTS
    return {
        "type": "scatter",
        "mode": "lines+markers" if few else "lines",
        "name": line.name,
        "legendgroup": line.name,
        "x": line.at_ms[shown],
        "y": line.value[shown],
        "customdata": [line.job[index] for index in shown],
        "text": [line.build[index] for index in shown],
        "line": {"width": 2, "dash": line.dash},
        "connectgaps": False,
        "marker": {
            "size": 6,
            "symbol": [PURPOSE_SYMBOLS.get(line.purpose[index], "circle") for index in shown]
            if few
            else "circle",
        },
        "hovertemplate": _hover(line, metric),
        "meta": {"slot": line.slot, "role": "line"},
        **(_whiskers(line, shown) if len(shown) <= _FEW_INTERVALS else {}),
    }


def _whiskers(line: ChartLine, shown: NDArray[np.intp]) -> dict[str, Any]:
    above, below = line.high[shown] - line.value[shown], line.value[shown] - line.low[shown]
    arrays = {"array": np.nan_to_num(above), "arrayminus": np.nan_to_num(below)}
    return {"error_y": {"type": "data", "symmetric": False, "thickness": 1.5, "width": 6, **arrays}}


def _other_purposes(line: ChartLine, metric: Metric) -> list[dict[str, Any]]:
    """Confirmations and bisections, as markers without a line: they measure old builds again."""
    few = len(_in_trend(line)) <= _FEW_POINTS
    other = [
        index
        for index, purpose in enumerate(line.purpose)
        if (purpose not in TREND_PURPOSES or (purpose != "scheduled" and not few))
        and not np.isnan(line.value[index])
    ]
    if not other:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{line.name}, not scheduled",
            "legendgroup": line.name,
            "showlegend": False,
            "x": line.at_ms[other],
            "y": line.value[other],
            "customdata": [line.job[index] for index in other],
            "text": [f"{line.purpose[index]}, {line.build[index]}" for index in other],
            "marker": {
                "size": 9,
                "symbol": [
                    PURPOSE_SYMBOLS.get(line.purpose[index], "circle-open") for index in other
                ],
            },
            "hovertemplate": _hover(line, metric),
            "meta": {"slot": line.slot, "role": "line"},
        }
    ]


def _hover(line: ChartLine, metric: Metric) -> str:
    return (
        f"%{{y:.4~g}} {metric.unit}<br>%{{text}}<br>%{{x|%e %b %Y %H:%M}} "
        f"UTC<extra>{line.name}</extra>"
    )


def _failures(line: ChartLine, row: int) -> list[dict[str, Any]]:
    """A failed case is data: a cross in the lane under the trend, with its status word."""
    failed = [index for index, status in enumerate(line.status) if status != "pass"]
    if not failed:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{line.name} failed",
            "legendgroup": line.name,
            "showlegend": False,
            "yaxis": "y2",
            "x": line.at_ms[failed],
            "y": np.full(len(failed), row),
            "customdata": [line.job[index] for index in failed],
            "text": [f"{line.status[index]}<br>{line.build[index]}" for index in failed],
            "marker": {"size": 8, "symbol": "x-thin", "line": {"width": 2}},
            "hovertemplate": f"%{{text}}<br>%{{x|%e %b %Y %H:%M}} UTC<extra>{line.name}</extra>",
            "meta": {"slot": line.slot, "role": "failure"},
        }
    ]


def first_seen(lines: Sequence[ChartLine]) -> list[tuple[int, str]]:
    """(milliseconds, build) where each build first appears in the trend, in time order: the build
    marks.
    """
    seen: dict[str, int] = {}
    for line in lines:
        backwards = _in_trend(line)[::-1]  # of one build, the first one is what the dict keeps
        first = dict(
            zip(
                [line.build[index] for index in backwards],
                line.at_ms[backwards].tolist(),
                strict=True,
            )
        )
        seen |= {build: min(at, seen.get(build, at)) for build, at in first.items()}
    return sorted((at, build) for build, at in seen.items())


def _build_marks(lines: Sequence[ChartLine]) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    marks = first_seen(lines)[-_MOST_BUILD_LINES:]
    shapes = [
        {
            "type": "line",
            "x0": at,
            "x1": at,
            "yref": "paper",
            "y0": 0,
            "y1": 1,
            "layer": "below",
            "line": {"width": 1, "dash": "dot"},
        }
        for at, _ in marks
    ]
    labelled = (
        [marks[index] for index in apart([at for at, _ in marks], lines)]
        if len(marks) <= MOST_LABELS
        else []
    )
    annotations = [
        {
            "x": at,
            "yref": "paper",
            "y": 1,
            "yanchor": "bottom",
            "xanchor": "left",
            "text": build,
            "showarrow": False,
            "font": {"size": 11},
        }
        for at, build in labelled
    ]
    return shapes, annotations


def apart(moments: Sequence[int], lines: Sequence[ChartLine]) -> list[int]:
    """Which of the moments, in time order, can have a label that does not run into the one
    before.
    """
    ends = [
        end
        for line in lines
        if len(line.at_ms)
        for end in (int(line.at_ms[0]), int(line.at_ms[-1]))
    ]
    least = (max(ends) - min(ends)) / MOST_LABELS if ends else 0
    shown: list[int] = []
    for index, at in enumerate(moments):
        if not shown or at - moments[shown[-1]] >= least:
            shown.append(index)
    return shown


def _trend_layout(
    metric: Metric,
    shapes: Sequence[Mapping[str, Any]],
    annotations: Sequence[Mapping[str, Any]],
    *,
    has_failures: bool,
) -> dict[str, Any]:
    lane = 0.12 if has_failures else 0.0
    title = f"{metric.label}, {metric.unit}" if metric.unit else metric.label
    layout: dict[str, Any] = {  # tickangle: else a phone's dates are turned, into the legend
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.16, "x": 0},
        "margin": {"l": 64, "r": 16, "t": 28, "b": 40},
        "shapes": shapes,
        "annotations": annotations,
        "xaxis": {"type": "date", "tickangle": 0, "anchor": "y2" if has_failures else "y"},
        "yaxis": {
            "title": {"text": title},
            "domain": [lane, 1],
            "automargin": True,
            "exponentformat": "power",
            "rangemode": "tozero" if metric.aggregate == "sum" else "normal",
        },
    }
    if has_failures:
        layout["yaxis2"] = {
            "domain": [0, lane - 0.04],
            "showticklabels": False,
            "zeroline": False,
            "showgrid": False,
            "fixedrange": True,
            "title": {"text": "failed", "font": {"size": 11}},
            "autorange": "reversed",
        }
    return layout
