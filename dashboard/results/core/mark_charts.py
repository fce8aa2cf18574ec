"""What is drawn over the trend of a series: levels between changes, alerts, remarks, invalid
points. Pure.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dashboard.ui.charts import ChartLine, Figure, apart

_MOST_LABELS = 12
_LABEL_LENGTH = 24


@dataclass(frozen=True, slots=True)
class Mark:
    """Something said about a moment: milliseconds since 1970; where a click leads; is it for the
    worse.
    """

    at_ms: int
    text: str
    href: str = ""
    worse: bool = False


@dataclass(frozen=True, slots=True)
class MarkedLine:
    """A line with what was said about it. invalid: job -> reason."""

    line: ChartLine
    alerts: Sequence[Mark] = ()
    invalid: Mapping[str, str] = field(default_factory=dict)

    @property
    def valid(self) -> ChartLine:
        """The line with gaps where its points are invalid."""
        if not self.invalid:
            return self.line
        keep = np.array([job not in self.invalid for job in self.line.job])
        arrays: dict[str, Any] = {
            name: np.where(keep, getattr(self.line, name), np.nan)
            for name in ("value", "low", "high")
        }
        return replace(self.line, **arrays)


def with_marks(
    figure: Figure,
    lines: Sequence[MarkedLine],
    remarks: Sequence[Mark],
    environments: Sequence[Mark] = (),
) -> Figure:
    """The figure of ``[line.valid for line in lines]`` with the marks over it. environments: where
    they changed.
    """
    traces = [
        trace for line in lines for trace in (*_levels(line), *_alerts(line), *_invalid(line))
    ]
    layout = figure["layout"]
    drawn = [line.line for line in lines]
    labels = [
        _label(environments[index], "⚙")
        for index in apart([move.at_ms for move in environments], drawn)
    ]
    # The last stay where there is little room
    labels += [_label(remark, "✎") for remark in remarks[-_MOST_LABELS:]]
    shapes = [*layout.get("shapes", []), *(_rule(mark) for mark in (*remarks, *environments))]
    annotations = [*layout.get("annotations", []), *labels]
    return {
        "data": [*figure["data"], *traces],
        "layout": {**layout, "shapes": shapes, "annotations": annotations},
    }


def _levels(marked: MarkedLine) -> list[dict[str, Any]]:
    """A line at the median of each stretch between two changes; nothing where nothing changed."""
    line = marked.valid
    if not marked.alerts or not len(line.at_ms):
        return []
    ends = [
        int(line.at_ms[0]),
        *sorted({alert.at_ms for alert in marked.alerts}),
        int(line.at_ms[-1]) + 1,
    ]
    x: list[float] = []
    y: list[float] = []
    for start, end in pairwise(ends):
        values = line.value[(line.at_ms >= start) & (line.at_ms < end)]
        values = values[~np.isnan(values)]
        if len(values):
            level = float(np.median(values))
            x += [start, min(end, int(line.at_ms[-1])), np.nan]
            y += [level, level, np.nan]
    return [
        _trace(line, "level", x, y, mode="lines", opacity=0.55, line={"width": 4}, hoverinfo="skip")
    ]


def _alerts(marked: MarkedLine) -> list[dict[str, Any]]:
    """A triangle at the first point of each new level: pointing down where it got worse."""
    found = [
        (alert, at)
        for alert in marked.alerts
        if (at := _value_at(marked.line, alert.at_ms)) is not None
    ]
    if not found:
        return []
    symbols = ["triangle-down" if alert.worse else "triangle-up" for alert, _ in found]
    return [
        _trace(
            marked.line,
            "alert",
            [alert.at_ms for alert, _ in found],
            [at for _, at in found],
            mode="markers",
            marker={"size": 14, "symbol": symbols, "line": {"width": 1}},
            text=[alert.text for alert, _ in found],
            customdata=[alert.href for alert, _ in found],
            hovertemplate="%{text}<extra>alert</extra>",
        )
    ]


def _value_at(line: ChartLine, at_ms: int) -> float | None:
    """The value of the point at a moment, or of the next one that has one."""
    later = np.flatnonzero((line.at_ms >= at_ms) & ~np.isnan(line.value))
    return float(line.value[later[0]]) if len(later) else None


def _invalid(marked: MarkedLine) -> list[dict[str, Any]]:
    """Hollow circles: points that a person left out."""
    line = marked.line
    found = [
        index
        for index, job in enumerate(line.job)
        if job in marked.invalid and not np.isnan(line.value[index])
    ]
    if not found:
        return []
    return [
        _trace(
            line,
            "invalid",
            line.at_ms[found],
            line.value[found],
            mode="markers",
            marker={"size": 9, "symbol": "circle-open", "line": {"width": 2}},
            customdata=[line.job[index] for index in found],
            text=[marked.invalid[line.job[index]] for index in found],
            hovertemplate="left out: %{text}<extra>invalid</extra>",
        )
    ]


def _trace(of: ChartLine, name: str, x: Any, y: Any, **look: Any) -> dict[str, Any]:
    fixed = {
        "type": "scatter",
        "showlegend": False,
        "legendgroup": of.name,
        "name": f"{of.name} {name}",
    }
    return {**fixed, "x": x, "y": y, "meta": {"slot": of.slot, "role": "line"}, **look}


def _rule(remark: Mark) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": remark.at_ms,
        "x1": remark.at_ms,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "layer": "below",
        "line": {"width": 1.5, "dash": "longdash"},
    }


def _label(remark: Mark, sign: str) -> dict[str, Any]:
    text = (
        remark.text if len(remark.text) <= _LABEL_LENGTH else f"{remark.text[: _LABEL_LENGTH - 1]}…"
    )
    return {
        "x": remark.at_ms,
        "yref": "paper",
        "y": 0,
        "yanchor": "bottom",
        "xanchor": "left",
        "align": "left",
        "showarrow": False,
        "text": f"{sign} {escaped(text)}",
        "hovertext": escaped(remark.text),
        "font": {"size": 11},
    }


def escaped(text: str) -> str:
    """Text as Plotly shows it whole: its labels know a few tags, which people's words are not."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
