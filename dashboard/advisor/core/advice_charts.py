"""The figure of an advice: total time against steps, with the break-even points marked. Pure; see
charts.py.
"""

import math
from typing import Any

import numpy as np

from dashboard.advisor.core.advice import Advice
from dashboard.advisor.core.advice_text import steps
from dashboard.comparisons.core.running_costs import Candidate
from dashboard.language.metrics import EAGER
from dashboard.language.wording import duration, number
from dashboard.ui.charts import SLOTS, Figure, dash
from dashboard.ui.downsampling import Floats

_POINTS = 121
# The axis goes so many times beyond the last break-even, so that one sees who stays ahead
_BEYOND = 30
_LEAST_STEPS, _MOST_STEPS = 1_000, 100_000_000


def axis(advice: Advice, horizon: float | None = None) -> Floats:
    """The numbers of steps that the figure shows: evenly in logarithm, from 1 to well beyond the
    last break-even.
    """
    marks = [one.from_steps.value for one in advice.stretches] + ([horizon] if horizon else [])
    last = min(max([_LEAST_STEPS, *(_BEYOND * mark for mark in marks)]), _MOST_STEPS)
    found: Floats = np.logspace(0, math.ceil(math.log10(last)), _POINTS)
    return found


def figure(advice: Advice, *, relative: bool = False, horizon: float | None = None) -> Figure:
    """relative: each config's time as a multiple of eager's. horizon: a number of steps to mark."""
    at = axis(advice, horizon)
    base = (
        next((one for one in advice.candidates if one.config == EAGER), None) if relative else None
    )
    traces = [_band(one, at, base) for one in advice.candidates]
    traces += [_line(one, at, base) for one in advice.candidates]
    traces += [_marks(advice, base)] if len(advice.stretches) > 1 else []
    return {"data": traces, "layout": _layout(relative=base is not None, horizon=horizon)}


def _draws(one: Candidate, at: Floats, base: Candidate | None) -> Floats:
    seconds = one.starts[:, None] + (at - 1) * one.steps[:, None]
    return seconds / (base.starts[:, None] + (at - 1) * base.steps[:, None]) if base else seconds


def _value(one: Candidate, at: Floats, base: Candidate | None) -> Floats:
    seconds = one.start_s + (at - 1) * one.step_s
    return seconds / (base.start_s + (at - 1) * base.step_s) if base else seconds


def _band(one: Candidate, at: Floats, base: Candidate | None) -> dict[str, Any]:
    low, high = np.quantile(_draws(one, at, base), [0.025, 0.975], axis=0)
    return {
        "type": "scatter",
        "mode": "lines",
        "hoverinfo": "skip",
        "showlegend": False,
        "legendgroup": one.config,
        "fill": "toself",
        "line": {"width": 0},
        "x": np.concatenate([at, at[::-1]]),
        "y": np.concatenate([low, high[::-1]]),
        "meta": {"slot": one.position % SLOTS, "role": "band"},
    }


def _line(one: Candidate, at: Floats, base: Candidate | None) -> dict[str, Any]:
    told = [f"{number(steps)} steps: {duration(one.seconds(steps).value)}" for steps in at]
    return {
        "type": "scatter",
        "mode": "lines",
        "name": one.config,
        "legendgroup": one.config,
        "x": at,
        "y": _value(one, at, base),
        "text": told,
        "line": {"width": 2, "dash": dash(one.position)},
        "hovertemplate": f"%{{text}}<extra>{one.config}</extra>",
        "meta": {"slot": one.position % SLOTS, "role": "line"},
    }


def _marks(advice: Advice, base: Candidate | None) -> dict[str, Any]:
    """A diamond where the next config gets ahead."""
    found = advice.stretches[1:]
    at = np.array([one.from_steps.value for one in found])
    y = [float(_value(one.candidate, at[[place]], base)[0]) for place, one in enumerate(found)]
    told = [
        f"{steps(one.from_steps.value)} steps<br>{one.candidate.config} is ahead from here on"
        for one in found
    ]
    return {
        "type": "scatter",
        "mode": "markers+text",
        "name": "break-even",
        "x": at,
        "y": y,
        "hovertext": told,
        "text": [f"{steps(one.from_steps.value)} steps" for one in found],
        "textposition": "bottom right",
        "marker": {"size": 13, "symbol": "diamond", "line": {"width": 1}},
        "cliponaxis": False,
        "hovertemplate": "%{hovertext}<extra>break-even</extra>",
        "meta": {"slot": found[-1].candidate.position % SLOTS, "role": "line"},
    }


def _layout(*, relative: bool, horizon: float | None) -> dict[str, Any]:
    title = "time as a multiple of eager's" if relative else "total time, s"
    log = {"type": "log", "exponentformat": "power", "dtick": 1}
    rule = {
        "type": "line",
        "x0": horizon,
        "x1": horizon,
        "yref": "paper",
        "y0": 0,
        "y1": 1,
        "line": {"width": 1.5},
    }
    limits = {"range": [math.log10(0.3), 1]} if relative else {}
    return {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "margin": {"l": 64, "r": 24, "t": 28, "b": 52},
        "xaxis": {"title": {"text": "steps"}, **log},
        "yaxis": {
            "title": {"text": title},
            "automargin": True,
            **({"type": "log"} | limits if relative else log),
        },
        "shapes": [rule] if horizon else [],
    }
