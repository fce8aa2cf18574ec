"""Plotly figures of one job's raw samples, as plain dicts of numpy arrays. Pure.

Colours are as in charts.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.ui.charts import ChartLine, Figure, Trace, trace, vertical_line
from dashboard.ui.config_looks import DASHES, SLOTS
from dashboard.ui.downsampling import Floats, downsample

_MOST_SAMPLES = 40  # of one job in a trend
_MOST_POINTS = 2000  # of one arm over time
_LAYOUT = {
    "showlegend": True,
    "legend": {"orientation": "h", "y": 1.16, "x": 0},
    "margin": {"l": 56, "r": 12, "t": 28, "b": 44},
    "hovermode": "closest",
}


@dataclass(frozen=True, slots=True)
class ChartArm:
    """Raw samples of one arm of one job: milliseconds per step, in the order taken.

    position: the config's place in the registry, as for ChartLine. order: each sample's place in
    the interleaved sequence. single: steps timed one by one, for percentiles; not interleaved with
    the other arm.
    """

    name: str
    position: int
    values: Floats
    order: NDArray[np.int32] | None = None
    single: bool = False


def distribution_figure(arms: Sequence[ChartArm]) -> Figure:
    """Histograms of the arms over common bins, and each arm's median as a line."""
    filled = [arm for arm in arms if len(arm.values)]
    if not filled:
        return {"data": [], "layout": {}}
    interleaved = [arm for arm in filled if not arm.single]
    edges = _bin_edges([arm.values for arm in interleaved or filled])
    medians = []
    for row, arm in enumerate(filled):
        if not arm.single:
            name, look = (
                f"slot-{arm.position % SLOTS}",
                {"width": 2, "dash": DASHES[row % len(DASHES)]},
            )
            medians.append(vertical_line(float(np.median(arm.values)), name=name, line=look))

    layout = _LAYOUT | {
        "barmode": "overlay",
        "bargap": 0,
        "shapes": medians,
        "xaxis": {"title": {"text": "ms per step (lines: medians)"}},
        "yaxis": {"title": {"text": "samples"}},
    }
    return {"data": [_histogram(arm, edges) for arm in filled], "layout": layout}


def _histogram(arm: ChartArm, edges: Floats) -> Trace:
    return {
        "type": "bar",
        "name": arm.name,
        "x": (edges[:-1] + edges[1:]) / 2,
        "y": np.histogram(arm.values.clip(edges[0], edges[-1]), edges)[0],
        "width": np.full(len(edges) - 1, edges[1] - edges[0]),
        "visible": "legendonly" if arm.single else True,
        "hovertemplate": f"%{{x:.4~g}} ms: %{{y}} samples<extra>{arm.name}</extra>",
        "meta": {"slot": arm.position % SLOTS, "role": "bar"},
    }


def _bin_edges(arms: Sequence[Floats]) -> Floats:
    """Common edges of 10 to 120 bins, by the Freedman-Diaconis rule of the narrowest arm.

    They span 99.8% of the samples; what lies outside is counted in the first and the last bin.
    """
    low = min(float(np.quantile(arm, 0.001)) for arm in arms)
    high = max(float(np.quantile(arm, 0.999)) for arm in arms)
    if high <= low:
        return np.linspace(low - 0.5, low + 0.5, 11)
    widths = []
    for arm in arms:
        lower, upper = np.quantile(arm, [0.25, 0.75])
        if upper > lower:
            widths.append(2 * float(upper - lower) / len(arm) ** (1 / 3))
    bins = 10
    if widths:
        bins = int(np.clip((high - low) / min(widths), 10, 120))
    return np.linspace(low, high, bins + 1)


def over_time_figure(arms: Sequence[ChartArm]) -> Figure:
    """Samples in the order taken: shows warm-up that did not end, two modes, interference."""
    traces = []
    for arm in arms:
        if arm.single:
            continue
        shown = downsample(arm.values, arm.values, arm.values, _MOST_POINTS)
        traces.append(
            {
                "type": "scatter",
                "mode": "lines+markers",
                "name": arm.name,
                "x": shown if arm.order is None else arm.order[shown],
                "y": arm.values[shown],
                "line": {"width": 1},
                "marker": {"size": 4},
                "hovertemplate": f"sample %{{x}}: %{{y:.4~g}} ms<extra>{arm.name}</extra>",
                "meta": {"slot": arm.position % SLOTS, "role": "line"},
            }
        )
    layout = _LAYOUT | {
        "xaxis": {"title": {"text": "sample, in the order taken"}},
        "yaxis": {"title": {"text": "ms per step"}},
    }
    return {"data": traces, "layout": layout}


def scatter(line: ChartLine, samples: Mapping[str, Floats]) -> list[Trace]:
    """The raw samples (ms) of the line's jobs as small points above each other.

    Of a job that has many, evenly spaced quantiles, its smallest and its largest among them. No
    trace where no samples are kept.
    """
    x = []
    y = []
    for at_ms, job in zip(line.at_ms, line.job, strict=True):
        if job in samples:
            y.append(_quantiles(samples[job]))
            x.append(np.full(len(y[-1]), at_ms))
    if not x:
        return []
    return [
        trace(
            line,
            f"{line.name} samples",
            np.concatenate(x),
            np.concatenate(y),
            mode="markers",
            hoverinfo="skip",
            opacity=0.35,
            marker={"size": 4},
        )
    ]


def _quantiles(values: Floats) -> Floats:
    if len(values) <= _MOST_SAMPLES:
        return values
    quantiles: Floats = np.quantile(values, np.linspace(0, 1, _MOST_SAMPLES), method="nearest")
    return quantiles
