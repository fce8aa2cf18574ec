"""Series of points for the tests of detection, and what the detector reports of them."""

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from dashboard.detection import Point, Report, SeriesState, Settings, Verdict, judge

Floats = NDArray[np.float64]


def points(values: Floats | list[float]) -> list[Point]:
    """Values as points, ten positions apart."""
    return [Point(float(value), None, None, 10 * place) for place, value in enumerate(values)]


def quiet(length: int, seed: int = 5) -> Floats:
    """Gaussian noise of 2% around 100 in which nothing looks like a change."""
    return np.asarray(100 + np.random.default_rng(seed).normal(0, 2, length))


def series(step: float, at: int, length: int) -> list[Point]:
    """The quiet series with a step (percent) at a point."""
    values = quiet(length)
    values[at:] += step
    return points(values)


def reports(given: Sequence[Point], settings: Settings | None = None) -> list[Report]:
    """Return what the detector reports of the points, oldest first."""
    return judge(given, SeriesState(settings or Settings()))[1]


def changes(given: Sequence[Point], settings: Settings | None = None) -> list[Verdict]:
    """Every change of level that the detector reports, oldest first."""
    verdicts = [report.verdict for report in reports(given, settings)]
    return [verdict for verdict in verdicts if verdict.state == "changed"]
