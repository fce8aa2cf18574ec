"""The figure of an advice: total time against steps, with the break-even points marked. Pure."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dashboard.advisor.core.advice import Advice, StepRange
from dashboard.advisor.core.advice_text import rough_steps
from dashboard.comparisons.core.running_costs import Candidate
from dashboard.language.durations import duration
from dashboard.language.metrics import EAGER
from dashboard.language.wording import number
from dashboard.ui.charts import Figure
from dashboard.ui.config_looks import SLOTS, dash
from dashboard.ui.downsampling import Floats

_POINTS = 121
# The axis goes so many times beyond the last break-even, so that one sees who stays ahead
_BEYOND = 30
_LEAST_STEPS, _MOST_STEPS = 1_000, 100_000_000
_LOG_AXIS = {"type": "log", "exponentformat": "power", "dtick": 1}


def axis(advice: Advice, horizon: float | None = None) -> Floats:
    """The numbers of steps that the figure shows.

    They are even in logarithm, from 1 to well beyond the last break-even.
    """
    marks = [step_range.from_steps.value for step_range in advice.ranges]
    if horizon:
        marks.append(horizon)
    last = max(_LEAST_STEPS, _BEYOND * max(marks, default=0))
    exponent = math.ceil(math.log10(min(last, _MOST_STEPS)))
    points: Floats = np.logspace(0, exponent, _POINTS)
    return points


def figure(advice: Advice, *, relative: bool = False, horizon: float | None = None) -> Figure:
    """relative: each config's time as a multiple of eager's. horizon: a number of steps to mark."""
    steps = axis(advice, horizon)
    base = None
    if relative:
        base = next((row for row in advice.candidates if row.config == EAGER), None)
    bands, lines = [], []
    for candidate in advice.candidates:
        bands.append(_band(candidate, steps, base))
        lines.append(_line(candidate, steps, base))
    traces = bands + lines
    known_ranges = [step_range for step_range in advice.ranges[1:] if step_range.is_known]
    if known_ranges:
        traces.append(_break_evens(known_ranges, base))
    return {"data": traces, "layout": _layout(relative=base is not None, horizon=horizon)}


def _drawn_seconds(candidate: Candidate, steps: Floats) -> Floats:
    """The time of so many steps in every draw: (draws, steps)."""
    return candidate.starts[:, None] + (steps - 1) * candidate.steps[:, None]


def _seconds(candidate: Candidate, steps: Floats) -> Floats:
    return candidate.start_s + (steps - 1) * candidate.step_s


def _band(candidate: Candidate, steps: Floats, base: Candidate | None) -> dict[str, Any]:
    drawn = _drawn_seconds(candidate, steps)
    if base:
        drawn /= _drawn_seconds(base, steps)
    low, high = np.quantile(drawn, [0.025, 0.975], axis=0)
    return {
        "type": "scatter",
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": candidate.config,
        "fill": "toself",
        "line": {"width": 0},
        "x": np.concatenate([steps, steps[::-1]]),
        "y": np.concatenate([low, high[::-1]]),
        "meta": {"slot": candidate.position % SLOTS, "role": "band"},
    }


def _line(candidate: Candidate, steps: Floats, base: Candidate | None) -> dict[str, Any]:
    y = _seconds(candidate, steps)
    if base:
        y /= _seconds(base, steps)
    text = []
    for count in steps:
        text.append(f"{number(count)} steps: {duration(candidate.seconds(count).value)}")
    return {
        "type": "scatter",
        "mode": "lines",
        "name": candidate.config,
        "legendgroup": candidate.config,
        "x": steps,
        "y": y,
        "text": text,
        "line": {"width": 2, "dash": dash(candidate.position)},
        "hovertemplate": f"%{{text}}<extra>{candidate.config}</extra>",
        "meta": {"slot": candidate.position % SLOTS, "role": "line"},
    }


def _break_evens(ranges: Sequence[StepRange], base: Candidate | None) -> dict[str, Any]:
    """A diamond where each of these configs gets ahead."""
    x = np.array([step_range.from_steps.value for step_range in ranges])
    y = np.array([row.candidate.seconds(row.from_steps.value).value for row in ranges])
    if base:
        y /= _seconds(base, x)
    labels, hover = [], []
    for step_range in ranges:
        label = f"{rough_steps(step_range.from_steps.value)} steps"
        labels.append(label)
        hover.append(f"{label}<br>{step_range.config} is ahead from here on")
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": "break-even",
        "x": x,
        "y": y,
        "hovertext": hover,
        "text": labels,
        "textposition": "bottom right",
        "marker": {"size": 13, "symbol": "diamond", "line": {"width": 1}},
        "cliponaxis": False,
        "hovertemplate": "%{hovertext}<extra>break-even</extra>",
        "meta": {"slot": ranges[-1].candidate.position % SLOTS, "role": "line"},
    }


def _layout(*, relative: bool, horizon: float | None) -> dict[str, Any]:
    title = "total time, s"
    scale: dict[str, Any] = _LOG_AXIS
    if relative:
        title = "time as a multiple of eager's"
        scale = {"type": "log", "range": [math.log10(0.3), 1]}
    return {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "margin": {"l": 64, "r": 24, "t": 28, "b": 52},
        "xaxis": {"title": {"text": "steps"}, **_LOG_AXIS},
        "yaxis": {"title": {"text": title}, "automargin": True, **scale},
        "shapes": [_rule(horizon)] if horizon else [],
    }


def _rule(steps: float) -> dict[str, Any]:
    return {
        "type": "line",
        "x0": steps,
        "x1": steps,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 1.5},
    }
