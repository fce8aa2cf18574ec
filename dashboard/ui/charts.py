"""Plotly figures as plain dicts of numpy arrays. Pure: data in, figure out.

A trace's ``meta.slot`` names a colour of the stylesheet, so that one figure serves both themes
(static/compilewatch/charts.js paints it). The second cue is the dash and the shape of the marker.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from dashboard.language.metrics import Metric
from dashboard.language.moments import HOVERED
from dashboard.language.wording import with_unit
from dashboard.ui.axes import value_axis
from dashboard.ui.config_looks import dash, symbol
from dashboard.ui.downsampling import Floats, downsample

Figure = dict[str, Any]
Trace = dict[str, Any]

# The trend's purposes; the others measure old builds again: the line would go back and forth
TREND_PURPOSES = frozenset({"scheduled", "manual", "import"})
PURPOSE_SYMBOLS = {
    "manual": "circle-open",
    "import": "square-open",
    "confirmation": "diamond-open",
    "bisection": "triangle-up-open",
}
_FEW_POINTS = 80  # up to this many the line carries a marker on each point
# Up to this many each point has whiskers as well: a band around one point has no width
_FEW_INTERVALS = 12
# A time axis shorter than this is widened: a first point would get an axis of milliseconds
_LEAST_SPAN_MS, _WIDENED_MS = 60_000, 3_600_000
_MOST_BUILD_LINES = 60
MOST_LABELS = 8
_MOST_POINTS = 3000  # of one line
_GAP = np.array([np.nan])
# A line is not drawn over so many usual steps in time; of fewer steps none is usual
_LONG_GAP, _FEW_STEPS = 10, 3


@dataclass(frozen=True, slots=True)
class ChartLine:
    """The data of one config in one series, in time order; one entry per datum in every sequence.

    position: the config's place in the registry, which decides its dash and marker, and its colour
        where no other line of the figure has it. slot: the colour.
    at_ms: milliseconds since 1970, UTC.
    value, low, high: NaN where the case failed or no interval is known.
    environment: ids, None where the result named none; empty where they were not read.
    version: of the benchmark; empty where it never changed. Another one is another segment: nothing
        is compared, averaged or drawn across.
    """

    name: str
    position: int
    slot: int
    at_ms: NDArray[np.int64]
    value: Floats
    low: Floats
    high: Floats
    status: Sequence[str]
    purpose: Sequence[str]
    build: Sequence[str]
    job: Sequence[str]
    environment: Sequence[int | None] = ()
    version: Sequence[int] = ()

    @property
    def versions(self) -> NDArray[np.int64]:
        """Benchmark version of each datum."""
        return np.array(self.version or [0] * len(self.value), np.int64)

    @property
    def is_newest(self) -> NDArray[np.bool_]:
        """Mask of the data that are of the newest version of the benchmark."""
        newest: NDArray[np.bool_] = self.versions == self.versions.max(initial=0)
        return newest


def series_figure(lines: Sequence[ChartLine], metric: Metric) -> Figure:
    """The trend of several configs: bands, lines, other purposes, failures, and build marks."""
    traces: list[Trace] = []
    for line in lines:
        traces += _band(line)
        traces.append(_trend(line, metric))
        traces += _other_purposes(line, metric)
    for row, line in enumerate(lines):
        traces += _failures(line, row)
    shapes, annotations = _build_marks(lines)
    has_failures = any(set(line.status) - {"pass"} for line in lines)
    layout = _trend_layout(metric, shapes, annotations, has_failures=has_failures)
    layout["xaxis"] |= _least_range(lines)
    return {"data": traces, "layout": layout}


def _least_range(lines: Sequence[ChartLine]) -> dict[str, Any]:
    """A range for the time axis where the data span less time than it should show; else nothing."""
    ends = time_ends(lines)
    if ends is None or ends[1] - ends[0] >= _LEAST_SPAN_MS:
        return {}
    middle = sum(ends) // 2
    return {"range": [middle - _WIDENED_MS, middle + _WIDENED_MS]}


def time_ends(lines: Sequence[ChartLine]) -> tuple[int, int] | None:
    """The times of the first and the last datum of all lines; None without data."""
    present = [line.at_ms for line in lines if len(line.at_ms)]
    if not present:
        return None
    first = min(int(at_ms.min()) for at_ms in present)
    last = max(int(at_ms.max()) for at_ms in present)
    return first, last


def _in_trend(line: ChartLine) -> NDArray[np.intp]:
    return np.flatnonzero([purpose in TREND_PURPOSES for purpose in line.purpose])


def _shown(line: ChartLine) -> NDArray[np.intp]:
    trend = _in_trend(line)
    return trend[downsample(line.value[trend], line.low[trend], line.high[trend], _MOST_POINTS)]


def _breaks(line: ChartLine, shown: NDArray[np.intp]) -> NDArray[np.intp]:
    """Places in `shown` before which the line is interrupted: where another segment begins, and
    after a time much longer than usual, in which nothing was measured.
    """
    steps = np.diff(line.at_ms[shown])
    is_break = np.diff(line.versions[shown]) != 0
    if len(steps) >= _FEW_STEPS:
        is_break |= steps > _LONG_GAP * np.median(steps)
    return np.flatnonzero(is_break) + 1


def _band(line: ChartLine) -> list[Trace]:
    """The intervals as one trace of polygons, one for each segment without a gap.

    A polygon goes forth along low and back along high; NaN separates it from the next.
    """
    shown = _shown(line)
    at_ms, low, high = line.at_ms[shown].astype(np.float64), line.low[shown], line.high[shown]
    has_interval = ~(np.isnan(low) | np.isnan(high))
    x: list[Floats] = []
    y: list[Floats] = []
    cuts = np.union1d(np.flatnonzero(~has_interval), _breaks(line, shown))
    for segment in np.split(np.arange(len(shown)), cuts):
        part = segment[has_interval[segment]]
        if len(part):
            x += [at_ms[part], at_ms[part][::-1], _GAP]
            y += [low[part], high[part][::-1], _GAP]
    if not x:
        return []
    return [
        {
            "type": "scatter",
            "mode": "lines",
            "hoverinfo": "skip",
            "showlegend": False,
            "legendgroup": line.name,
            "fill": "toself",
            "x": np.concatenate(x),
            "y": np.concatenate(y),
            "line": {"width": 0},
            "meta": {"slot": line.slot, "role": "band"},
        }
    ]


def _trend(line: ChartLine, metric: Metric) -> Trace:
    shown = _shown(line)
    breaks = _breaks(line, shown)
    is_gap = np.insert(np.zeros(len(shown), bool), breaks, values=True)
    shown = np.insert(shown, breaks, shown[breaks])  # twice: without a value, and with it
    value, low, high = (
        np.where(is_gap, np.nan, values[shown]) for values in (line.value, line.low, line.high)
    )
    trend: Trace = {
        "type": "scatter",
        "mode": "lines",
        "name": line.name,
        "legendgroup": line.name,
        "x": line.at_ms[shown],
        "y": value,
        "customdata": _pick(line.job, shown),
        "text": _pick(line.build, shown),
        "line": {"width": 2, "dash": dash(line.position)},
        "connectgaps": False,
        "marker": {"size": 6, "symbol": symbol(line.position)},
        "hovertemplate": _hover(line, metric),
        "meta": {"slot": line.slot, "role": "line"},
    }
    if len(shown) <= _FEW_POINTS:
        trend["mode"] = "lines+markers"
        trend["marker"]["symbol"] = _symbols(line, shown, symbol(line.position))
    if len(shown) <= _FEW_INTERVALS:
        trend["error_y"] = {
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 6,
            "array": np.nan_to_num(high - value),
            "arrayminus": np.nan_to_num(value - low),
        }
    return trend


def trace(of: ChartLine, name: str, x: Any, y: Any, *, role: str = "line", **look: Any) -> Trace:
    """A trace in the colour of its line and shown with it; `look` is Plotly's."""
    return {
        "type": "scatter",
        "showlegend": False,
        "legendgroup": of.name,
        "name": name,
        "x": x,
        "y": y,
        "meta": {"slot": of.slot, "role": role},
        **look,
    }


def _pick(values: Sequence[str], indices: Iterable[int]) -> list[str]:
    return [values[index] for index in indices]


def _symbols(line: ChartLine, indices: Iterable[int], usual: str) -> list[str]:
    return [PURPOSE_SYMBOLS.get(line.purpose[index], usual) for index in indices]


def _other_purposes(line: ChartLine, metric: Metric) -> list[Trace]:
    """Confirmations and bisections, as markers without a line: they measure old builds again.

    In a long trend, whose line has no markers, manual and imported data get one as well.
    """
    is_long = len(_in_trend(line)) > _FEW_POINTS
    on_the_line = {"scheduled"} if is_long else TREND_PURPOSES
    other = []
    for index, purpose in enumerate(line.purpose):
        if purpose not in on_the_line and not np.isnan(line.value[index]):
            other.append(index)
    if not other:
        return []
    return [
        trace(
            line,
            f"{line.name}, not scheduled",
            line.at_ms[other],
            line.value[other],
            mode="markers",
            customdata=_pick(line.job, other),
            text=[f"{line.purpose[index]}, {line.build[index]}" for index in other],
            marker={"size": 9, "symbol": _symbols(line, other, "circle-open")},
            hovertemplate=_hover(line, metric),
        )
    ]


def _hover(line: ChartLine, metric: Metric) -> str:
    value = with_unit("%{y:.4~g}", metric)
    return f"{value}<br>%{{text}}<br>{HOVERED}<extra>{line.name}</extra>"


def _failures(line: ChartLine, row: int) -> list[Trace]:
    """A failed case is data: a cross in the lane under the trend, with its status word."""
    failed = [index for index, status in enumerate(line.status) if status != "pass"]
    if not failed:
        return []
    return [
        trace(
            line,
            f"{line.name} failed",
            line.at_ms[failed],
            np.full(len(failed), row),
            role="failure",
            mode="markers",
            yaxis="y2",
            customdata=_pick(line.job, failed),
            text=[f"{line.status[index]}<br>{line.build[index]}" for index in failed],
            marker={"size": 8, "symbol": "x-thin", "line": {"width": 2}},
            hovertemplate=f"%{{text}}<br>{HOVERED}<extra>{line.name}</extra>",
        )
    ]


def first_seen(lines: Sequence[ChartLine]) -> list[tuple[int, str]]:
    """(milliseconds, build) where each build first appears in the trend, in time order."""
    first: dict[str, int] = {}
    for line in lines:
        times = line.at_ms.tolist()
        for index in _in_trend(line):
            build, at = line.build[index], times[index]
            first[build] = min(at, first.get(build, at))
    return sorted((at, build) for build, at in first.items())


def _build_marks(lines: Sequence[ChartLine]) -> tuple[list[Any], list[Any]]:
    """Lines where builds first appear, and labels for them where there are few."""
    marks = first_seen(lines)[-_MOST_BUILD_LINES:]
    dotted = {"width": 1, "dash": "dot"}
    shapes = [vertical_line(at, layer="below", line=dotted) for at, _ in marks]
    if len(marks) > MOST_LABELS:
        return shapes, []
    labelled = apart([at for at, _ in marks], lines)
    return shapes, [label(*marks[index], y=1) for index in labelled]


def vertical_line(at: float, **look: Any) -> dict[str, Any]:
    """A line over the whole height of a chart; `look` is Plotly's."""
    return {"type": "line", "x0": at, "x1": at, "yref": "paper", "y0": 0, "y1": 1, **look}


def label(at: int, text: str, y: int, **look: Any) -> dict[str, Any]:
    """A text on the height ``y``, 0 to 1, of a chart; `look` is Plotly's."""
    return {
        "x": at,
        "yref": "paper",
        "y": y,
        "yanchor": "bottom",
        "xanchor": "left",
        "text": text,
        "showarrow": False,
        "font": {"size": 11},
        **look,
    }


def apart(moments: Sequence[int], lines: Sequence[ChartLine]) -> list[int]:
    """Indices of the moments, in time order, whose labels do not run into the one before."""
    ends = time_ends(lines)
    least = (ends[1] - ends[0]) / MOST_LABELS if ends else 0
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
    layout: dict[str, Any] = {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": -0.16, "x": 0},
        "margin": {"l": 64, "r": 16, "t": 28, "b": 40},
        "shapes": shapes,
        "annotations": annotations,
        # tickangle: a phone would turn the dates, into the legend
        "xaxis": {"type": "date", "tickangle": 0, "anchor": "y2" if has_failures else "y"},
        "yaxis": {
            **value_axis(metric),
            "domain": [lane, 1],
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
