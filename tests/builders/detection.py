"""Series of points for the tests of detection."""

import numpy as np
from numpy.typing import NDArray

from dashboard.detection import OnlineDetector, Point, Settings, Verdict

Floats = NDArray[np.float64]


def points(values: Floats | list[float]) -> list[Point]:
    """Values as points, ten positions apart."""
    return [Point(float(value), None, None, 10 * place) for place, value in enumerate(values)]


def quiet(length: int, seed: int = 5) -> Floats:
    """Gaussian noise of 2 % around 100 in which nothing looks like a change."""
    return np.asarray(100 + np.random.default_rng(seed).normal(0, 2, length))


def series(step: float, at: int, length: int) -> list[Point]:
    """The quiet series with a step (percent) at a point."""
    values = quiet(length)
    values[at:] += step
    return points(values)


def online(given: list[Point], settings: Settings | None = None) -> list[Verdict]:
    """What the online detector says to each point."""
    detector = OnlineDetector(settings or Settings())
    return [detector.update(point) for point in given]
