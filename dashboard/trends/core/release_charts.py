"""A line per config over releases: values with intervals, failures in a lane below. Pure."""

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any

import numpy as np

from dashboard.language.metrics import Metric
from dashboard.language.wording import plural
from dashboard.trends.core.release_lines import (
    MeasuredRelease,
    Release,
    ReleaseLine,
    short_names,
)
from dashboard.ui.axes import value_axis
from dashboard.ui.charts import Figure
from dashboard.ui.config_looks import dash, slots, symbol
from dashboard.ui.interval_clipping import interval_bounds

Bounds = tuple[float, float]

_LANE = 0.12  # of the height, for failures
_MOST_NAMED_BUILDS = 12  # up to this many each has its name below the axis
_MOST_LETTERS = 18  # of a variant's name there
_NO_NUMBER = {
    "text": "No number: each of its jobs failed.",
    "xref": "paper",
    "yref": "paper",
    "x": 0.5,
    "y": 0.55,
    "showarrow": False,
    "font": {"size": 14},
}
_FAILURE_AXIS = {
    "domain": [0, _LANE - 0.04],
    "showticklabels": False,
    "zeroline": False,
    "showgrid": False,
    "fixedrange": True,
    "autorange": "reversed",
    "title": {"text": "failed", "font": {"size": 11}},
}


def release_figure(lines: Sequence[ReleaseLine], metric: Metric, builds: Sequence[str]) -> Figure:
    """builds: every build of the axis, oldest first: one that lacks a number keeps its place."""
    traces: list[dict[str, Any]] = []
    failures: list[dict[str, Any]] = []
    bounds = _bounds(lines)
    colours = slots(line.position for line in lines)
    for row, colourless in enumerate(lines):
        line = replace(colourless, slot=colours[colourless.position])
        traces += _traces(line, metric, bounds, builds)
        failures += _failures(line, row)

    layout = _layout(metric, builds, has_failures=bool(failures))
    if failures and not traces:
        layout["annotations"] = [_NO_NUMBER]
    return {"data": [*traces, *failures], "layout": layout}


def _bounds(lines: Sequence[ReleaseLine]) -> Bounds:
    """Find where whiskers end at the latest: a much wider one would flatten the chart."""
    points = [point for line in lines for point in line.measured]
    values = np.array([point.value for point in points])
    low = np.array([point.low for point in points])
    high = np.array([point.high for point in points])
    return interval_bounds(values, low, high) or (-math.inf, math.inf)


def _traces(
    line: ReleaseLine, metric: Metric, bounds: Bounds, builds: Sequence[str]
) -> Iterator[dict[str, Any]]:
    """A line through the plain builds, interrupted where one between was not measured, or another
    version of the benchmark begins; variants are hollow marks: no step in time leads to them. Open
    triangles where whiskers go on.
    """
    plain, variants = [], []
    for point in line.measured:
        if point.release.is_variant:
            variants.append(point)
        else:
            plain.append(point)
    if plain:
        yield _interrupted(_trace(line, plain, metric, bounds), plain, builds)
    if variants:
        trace = _trace(line, variants, metric, bounds)
        trace["mode"] = "markers"
        trace["marker"]["symbol"] += "-open"
        trace["showlegend"] = not plain
        yield trace
    lowest, highest = bounds
    below = [(point.release, point.low) for point in line.measured if point.low < lowest]
    above = [(point.release, point.high) for point in line.measured if point.high > highest]
    if below:
        yield _cut_marks(line, "triangle-down-open", lowest, below, metric)
    if above:
        yield _cut_marks(line, "triangle-up-open", highest, above, metric)


def _trace(
    line: ReleaseLine, points: Sequence[MeasuredRelease], metric: Metric, bounds: Bounds
) -> dict[str, Any]:
    lowest, highest = bounds
    return {
        "type": "scatter",
        "mode": "lines+markers",
        "name": line.name,
        "x": [point.release.build for point in points],
        "y": [point.value for point in points],
        "customdata": [point.release.job for point in points],
        "text": [plural(point.release.processes, "process", "processes") for point in points],
        "line": {"width": 2, "dash": dash(line.position)},
        "marker": {"size": 8, "symbol": symbol(line.position)},
        "error_y": {
            "type": "data",
            "symmetric": False,
            "thickness": 1.5,
            "width": 6,
            "array": [_whisker(min(point.high, highest) - point.value) for point in points],
            "arrayminus": [_whisker(point.value - max(point.low, lowest)) for point in points],
        },
        "hovertemplate": (
            f"%{{y:.4~g}} {metric.unit}<br>%{{x}}<br>%{{text}}<extra>{line.name}</extra>"
        ),
        "meta": {"slot": line.slot, "role": "line"},
    }


def _interrupted(
    trace: dict[str, Any], points: Sequence[MeasuredRelease], builds: Sequence[str]
) -> dict[str, Any]:
    """The trace with a point without a value before each one that no line leads to."""
    plain = [build for build in builds if "~" not in build]
    places = {build: place for place, build in enumerate(plain)}
    columns = trace["x"], trace["y"], trace["customdata"], trace["text"]
    error = trace["error_y"]
    for index in range(len(points) - 1, 0, -1):
        before, release = points[index - 1].release, points[index].release
        is_next = places[release.build] == places[before.build] + 1
        if is_next and release.version == before.version:
            continue
        for column, gap in zip(columns, (release.build, None, "", ""), strict=True):
            column.insert(index, gap)
        error["array"].insert(index, 0.0)
        error["arrayminus"].insert(index, 0.0)
    return trace


def _cut_marks(
    line: ReleaseLine,
    symbol: str,
    bound: float,
    ends: Sequence[tuple[Release, float]],
    metric: Metric,
) -> dict[str, Any]:
    """A mark for each whisker that is cut short; hovering it says where it ends."""
    return {
        "type": "scatter",
        "mode": "markers",
        "name": f"{line.name} interval",
        "showlegend": False,
        "x": [release.build for release, _ in ends],
        "y": [bound] * len(ends),
        "customdata": [release.job for release, _ in ends],
        "text": [f"{end:.4g} {metric.unit}".rstrip() for _, end in ends],
        "marker": {"size": 9, "symbol": symbol},
        "hovertemplate": "interval goes on to %{text}<extra></extra>",
        "meta": {"slot": line.slot, "role": "line"},
    }


def _whisker(length: float) -> float:
    """None where no interval is known."""
    return 0.0 if math.isnan(length) else length


def _failures(line: ReleaseLine, row: int) -> list[dict[str, Any]]:
    failed = [release for release in line.releases if release.status and not release.level]
    if not failed:
        return []
    trace = {
        "type": "scatter",
        "mode": "markers",
        "name": f"{line.name} failed",
        "showlegend": False,
        "yaxis": "y2",
        "x": [release.build for release in failed],
        "y": [row] * len(failed),
        "text": [release.status for release in failed],
        "marker": {"size": 8, "symbol": "x-thin", "line": {"width": 2}},
        "hovertemplate": f"%{{text}}<br>%{{x}}<extra>{line.name}</extra>",
        "meta": {"slot": line.slot, "role": "failure"},
    }
    return [trace]


def _layout(metric: Metric, builds: Sequence[str], *, has_failures: bool) -> dict[str, Any]:
    layout: dict[str, Any] = {
        "hovermode": "closest",
        "showlegend": True,
        "legend": {"orientation": "h", "y": 1.02, "yanchor": "bottom", "x": 0},
        "margin": {"l": 64, "r": 16, "t": 28, "b": 56},
        "xaxis": _build_axis(builds),
        "yaxis": {**value_axis(metric), "domain": [0.0, 1]},
    }
    if has_failures:
        layout["xaxis"]["anchor"] = "y2"
        layout["yaxis"]["domain"] = [_LANE, 1]
        layout["yaxis2"] = _FAILURE_AXIS
    return layout


def _build_axis(builds: Sequence[str]) -> dict[str, Any]:
    axis: dict[str, Any] = {
        "type": "category",
        "categoryorder": "array",
        "categoryarray": list(builds),
        "automargin": True,
        "range": [-0.5, len(builds) - 0.5],
        "anchor": "y",
    }
    if len(builds) <= _MOST_NAMED_BUILDS:
        names = short_names(builds)
        axis["tickvals"] = list(builds)
        axis["ticktext"] = [_tick_text(names[build]) for build in builds]
    return axis


def _tick_text(name: str) -> str:
    """Its local version (+cu130) on a line of its own, which a phone would cut off; and a variant's
    name, cut where it is long: hovering the point shows it.
    """
    base, tilde, variant = name.partition("~")
    base = base.replace("+", "<br>+")
    if not tilde:
        return base
    if len(variant) > _MOST_LETTERS:
        variant = f"{variant[:_MOST_LETTERS]}…"
    return f"{base}<br>~{variant}"
