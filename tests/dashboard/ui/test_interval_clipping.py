"""An interval far wider than the others is cut short and marked; the others are drawn whole."""

import numpy as np

from dashboard.language.metrics import METRICS
from dashboard.ui.charts import ChartLine, Figure
from dashboard.ui.interval_clipping import clipped_figure
from tests.builders.read_data import line

LATENCY = METRICS["latency_ms"]


def highest(figure: Figure) -> float:
    return max(float(np.nanmax(trace["y"])) for trace in figure["data"])


def marks(figure: Figure) -> list[str]:
    texts = []
    for trace in figure["data"]:
        if trace.get("name") == "inductor interval":
            texts += trace["text"]
    return texts


def wide() -> ChartLine:
    """23 points of 0.09 to 0.10 ms, whose intervals are 0.004 ms wide, but for one."""
    values = np.linspace(0.09, 0.10, 23)
    high = values + 0.002
    high[11] = 0.427
    return line(values.tolist(), low=values - 0.002, high=high)


def test_one_wide_interval_leaves_the_points_their_height() -> None:
    assert highest(clipped_figure([wide()], LATENCY)) < 0.11


def test_clipped_interval_is_marked_with_its_end() -> None:
    assert marks(clipped_figure([wide()], LATENCY)) == ["0.427 ms"]


def test_usual_intervals_are_whole_however_wide_they_are() -> None:
    values = np.full(23, 10.0)
    figure = clipped_figure([line(values.tolist(), low=values - 5, high=values + 5)], LATENCY)
    assert highest(figure) == 15
    assert marks(figure) == []


def test_single_point_keeps_its_interval() -> None:
    low, high = np.array([1.0]), np.array([99.0])
    assert marks(clipped_figure([line([10.0], low=low, high=high)], LATENCY)) == []
