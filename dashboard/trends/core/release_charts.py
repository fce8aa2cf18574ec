"""A line per config over releases: values with their intervals, failures in a lane below. Pure; as
charts.py.
"""

import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.comparisons.core.levels import Level
from dashboard.comparisons.core.ratios import level_intervals
from dashboard.language.metrics import Metric
from dashboard.language.wording import plural
from dashboard.ui.charts import SLOTS, Figure, dash

_LANE = 0.12  # of the height, for failures
_FEW_BUILDS = 12  # up to this many each has its name below the axis
_LONGEST = 18  # letters of a variant's name there
# One for each round of the colours: most lines are a point
_SHAPES = ("circle", "square", "diamond", "triangle-up")
_NOTHING = {
    "text": "No number: each of its jobs failed.",
    "xref": "paper",
    "yref": "paper",
    "x": 0.5,
    "y": 0.55,
    "showarrow": False,
    "font": {"size": 14},
}
_FINGERPRINT = re.compile(r"-[0-9a-f]{8}$")


@dataclass(frozen=True, slots=True)
class Release:
    """What one build measured of one config. status: how it failed, where it brought no number."""

    build: str
    level: Level | None
    job: str = ""
    status: str = ""


Measured = tuple[Release, float, float, float]  # release, value, low, high


@dataclass(frozen=True, slots=True)
class ReleaseLine:
    """One config over builds, oldest first. position: its place in the registry, which decides
    colour and dash.
    """

    name: str
    position: int
    releases: list[Release] = field(default_factory=list)

    @property
    def measured(self) -> list[Measured]:
        """Where there is a number."""
        good = [(one, one.level) for one in self.releases if one.level]
        ends = level_intervals([level for _, level in good]) if good else []
        return [(one, level.value, *ends[place]) for place, (one, level) in enumerate(good)]


def release_figure(lines: Sequence[ReleaseLine], metric: Metric, builds: Sequence[str]) -> Figure:
    """builds: every build of the axis, oldest first: one that lacks a number keeps its place."""
    traces = [trace for line in lines for trace in _traces(line, metric)]
    failed = [trace for row, line in enumerate(lines) for trace in _failures(line, row)]
    layout = _layout(metric, builds, has_failures=bool(failed))
    if failed and not traces:
        layout["annotations"] = [_NOTHING]
    return {"data": [*traces, *failed], "layout": layout}


def short_names(builds: Sequence[str]) -> dict[str, str]:
    """What tells builds apart, by label: without the fingerprint of a variant's settings, and
    without the local version (+cu130) where all have the same.
    """
    alike = len({build.partition("~")[0].partition("+")[2] for build in builds}) == 1
    names = {build: _short(build, alike=alike) for build in builds}
    counted = Counter(names.values())
    return {build: name if counted[name] == 1 else build for build, name in names.items()}


def _short(build: str, *, alike: bool) -> str:
    base, tilde, variant = build.partition("~")
    return f"{base.partition('+')[0] if alike else base}{tilde}{_FINGERPRINT.sub('', variant)}"


def _traces(line: ReleaseLine, metric: Metric) -> Iterator[dict[str, Any]]:
    """A line through the plain builds; variants are hollow marks of their own: no step in time
    leads to them.
    """
    plain, variants = (
        [one for one in line.measured if ("~" in one[0].build) is wanted]
        for wanted in (False, True)
    )
    if plain:
        yield _line(line, plain, metric)
    if variants:
        marks = _line(line, variants, metric)
        marks["marker"] |= {"symbol": f"{marks['marker']['symbol']}-open"}
        yield marks | {"mode": "markers", "showlegend": not plain}


def _line(line: ReleaseLine, measured: Sequence[Measured], metric: Metric) -> dict[str, Any]:
    values = [value for _, value, _, _ in measured]
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": [one.build for one, *_ in measured],
        "y": values,
        "customdata": [one.job for one, *_ in measured],
        "text": [_processes(one) for one, *_ in measured],
        "line": {"width": 2, "dash": dash(line.position)},
        "marker": {"size": 8, "symbol": _SHAPES[line.position // SLOTS % len(_SHAPES)]},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 6,
            "array": [_gap(high, value) for _, value, _, high in measured],
            "arrayminus": [_gap(value, low) for _, value, low, _ in measured],
        },
        "hovertemplate": f"%{{y:.4~g}} "
        f"{metric.unit}<br>%{{x}}<br>%{{text}}<extra>{line.name}</extra>",
        "meta": {"slot": line.position % SLOTS, "role": "line"},
    }


def _processes(one: Release) -> str:
    return plural(one.level.n if one.level else 1, "process", "processes")


def _gap(above: float, below: float) -> float:
    """The length of a whisker; none where no interval is known."""
    return 0.0 if math.isnan(above - below) else above - below


def _failures(line: ReleaseLine, row: int) -> list[dict[str, Any]]:
    failed = [one for one in line.releases if not one.level and one.status]
    if not failed:
        return []
    return [
        {
            "type": "scatter",
            "mode": "markers",
            "name": f"{line.name} failed",
            "showlegend": False,
            "yaxis": "y2",
            "x": [one.build for one in failed],
            "y": [row] * len(failed),
            "text": [one.status for one in failed],
            "marker": {"size": 8, "symbol": "x-thin", "line": {"width": 2}},
            "hovertemplate": f"%{{text}}<br>%{{x}}<extra>{line.name}</extra>",
            "meta": {"slot": line.position % SLOTS, "role": "failure"},
        }
    ]


def _on_axis(name: str) -> str:
    """The name of a variant in a line of its own, and cut where it is long: a touch of the point
    tells it whole.
    """
    base, tilde, variant = name.partition("~")
    return (
        f"{base}<br>~{variant[:_LONGEST]}{'…' if len(variant) > _LONGEST else ''}"
        if tilde
        else base
    )


def _layout(metric: Metric, builds: Sequence[str], *, has_failures: bool) -> dict[str, Any]:
    lane = _LANE if has_failures else 0.0
    short = short_names(builds)
    two_lines = [_on_axis(short[build]) for build in builds]
    layout: dict[str, Any] = {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "margin": {"l": 64, "r": 16, "t": 28, "b": 56},
        "xaxis": {
            "type": "category",
            "categoryorder": "array",
            "categoryarray": list(builds),
            "automargin": True,
            **(
                {"tickvals": list(builds), "ticktext": two_lines}
                if len(builds) <= _FEW_BUILDS
                else {}
            ),
            "range": [-0.5, len(builds) - 0.5],
            "anchor": "y2" if has_failures else "y",
        },
        "yaxis": {
            "title": {"text": f"{metric.label}, {metric.unit}" if metric.unit else metric.label},
            "domain": [lane, 1],
            "automargin": True,
            "exponentformat": "power",
        },
    }
    if has_failures:
        layout["yaxis2"] = {
            "domain": [0, lane - 0.04],
            "showticklabels": False,
            "zeroline": False,
            "showgrid": False,
            "fixedrange": True,
            "autorange": "reversed",
            "title": {"text": "failed", "font": {"size": 11}},
        }
    return layout
