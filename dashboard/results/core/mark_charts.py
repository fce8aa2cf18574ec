"""Marks drawn over a trend: levels between changes, alerts, remarks, invalid points. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from typing import Any

import numpy as np

from dashboard.ui.charts import (
    ChartLine,
    Figure,
    Trace,
    apart,
    label,
    time_ends,
    trace,
    vertical_line,
)

_MOST_LABELS = 12
_LABEL_LENGTH = 24
# Of the time axis: dashed lines that are closer run into a bar
_LEAST_APART = 0.01


@dataclass(frozen=True, slots=True)
class Mark:
    """Something said about a moment.

    at_ms: milliseconds since 1970. href: where a click leads. worse: it got worse.
    short: the label that stands for the text, which hovering it shows.
    """

    at_ms: int
    text: str
    href: str = ""
    worse: bool = False
    short: str = ""


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
        return replace(
            self.line,
            value=np.where(keep, self.line.value, np.nan),
            low=np.where(keep, self.line.low, np.nan),
            high=np.where(keep, self.line.high, np.nan),
        )


def with_marks(
    figure: Figure,
    lines: Sequence[MarkedLine],
    remarks: Sequence[Mark],
    environments: Sequence[Mark] = (),
) -> Figure:
    """The figure of ``[line.valid for line in lines]`` with the marks over it.

    environments: where they changed.
    """
    traces = [*figure["data"]]
    for line in lines:
        traces += [*_levels(line), *_alerts(line), *_invalid(line)]

    drawn = [line.line for line in lines]
    environments = _merged(environments, drawn)
    labelled = apart([move.at_ms for move in environments], drawn)
    labels = [_label(environments[index], "⚙") for index in labelled]
    # The last stay where there is little room
    labels += [_label(remark, "✎") for remark in remarks[-_MOST_LABELS:]]
    dashed = {"width": 1.5, "dash": "longdash"}
    marks = (*remarks, *environments)
    rules = [vertical_line(mark.at_ms, layer="below", line=dashed) for mark in marks]
    layout = figure["layout"]
    return {
        "data": traces,
        "layout": {
            **layout,
            "shapes": [*layout.get("shapes", []), *rules],
            "annotations": [*layout.get("annotations", []), *labels],
        },
    }


def _merged(moves: Sequence[Mark], lines: Sequence[ChartLine]) -> list[Mark]:
    """One mark for those in time order that would be drawn upon each other."""
    ends = time_ends(lines)
    least = _LEAST_APART * (ends[1] - ends[0]) if ends else 0
    groups: list[list[Mark]] = []
    for move in moves:
        if groups and move.at_ms - groups[-1][0].at_ms < least:
            groups[-1].append(move)
        else:
            groups.append([move])
    merged = []
    for group in groups:
        mark = group[0]
        if len(group) > 1:
            text = "\n".join(move.text for move in group)
            mark = replace(mark, text=text, short=f"{len(group)} changes")
        merged.append(mark)
    return merged


def _levels(marked: MarkedLine) -> list[Trace]:
    """A line at the median between each two changes, within a segment; nothing where nothing
    changed.
    """
    line = marked.valid
    if not marked.alerts or not len(line.at_ms):
        return []
    first, last = int(line.at_ms[0]), int(line.at_ms[-1])
    segments = line.at_ms[1:][np.diff(line.versions) != 0].tolist()
    changes = sorted({alert.at_ms for alert in marked.alerts} | set(segments))
    x: list[float] = []
    y: list[float] = []
    for start, end in pairwise([first, *changes, last + 1]):
        values = line.value[(line.at_ms >= start) & (line.at_ms < end)]
        values = values[~np.isnan(values)]
        if len(values):
            level = float(np.median(values))
            x += [start, min(end, last), np.nan]
            y += [level, level, np.nan]
    name, look = f"{line.name} level", {"width": 4}
    return [trace(line, name, x, y, mode="lines", opacity=0.55, line=look, hoverinfo="skip")]


def _alerts(marked: MarkedLine) -> list[Trace]:
    """A triangle at the first point of each new level: pointing down where it got worse."""
    shown = []
    values = []
    line = marked.line
    for alert in marked.alerts:
        # The point at that moment, or the next one that has a value
        later = np.flatnonzero((line.at_ms >= alert.at_ms) & ~np.isnan(line.value))
        if len(later):
            shown.append(alert)
            values.append(float(line.value[later[0]]))
    if not shown:
        return []
    symbols = ["triangle-down" if alert.worse else "triangle-up" for alert in shown]
    return [
        trace(
            line,
            f"{line.name} alert",
            [alert.at_ms for alert in shown],
            values,
            mode="markers",
            marker={"size": 14, "symbol": symbols, "line": {"width": 1}},
            text=[alert.text for alert in shown],
            customdata=[alert.href for alert in shown],
            hovertemplate="%{text}<extra>alert</extra>",
        )
    ]


def _invalid(marked: MarkedLine) -> list[Trace]:
    """Hollow circles: points that a person left out."""
    line = marked.line
    is_invalid = np.array([job in marked.invalid for job in line.job], dtype=bool)
    indices = np.flatnonzero(is_invalid & ~np.isnan(line.value))
    if not len(indices):
        return []
    jobs = [line.job[index] for index in indices.tolist()]
    return [
        trace(
            line,
            f"{line.name} invalid",
            line.at_ms[indices],
            line.value[indices],
            mode="markers",
            marker={"size": 9, "symbol": "circle-open", "line": {"width": 2}},
            customdata=jobs,
            text=[marked.invalid[job] for job in jobs],
            hovertemplate="left out: %{text}<extra>invalid</extra>",
        )
    ]


def _label(remark: Mark, sign: str) -> dict[str, Any]:
    text = remark.short or remark.text
    if len(text) > _LABEL_LENGTH:
        text = f"{text[: _LABEL_LENGTH - 1]}…"
    shown = f"{sign} {escaped(text)}"
    hover = escaped(remark.text).replace("\n", "<br>")
    return label(remark.at_ms, shown, 0, align="left", hovertext=hover)


def escaped(text: str) -> str:
    """Text as Plotly shows it whole: its labels know a few tags, which people's words are not."""
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
