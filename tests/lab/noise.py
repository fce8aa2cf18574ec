"""Series to try a detector on: five kinds of noise around 100.

The total standard deviation is 2 where it exists.
"""

from collections.abc import Callable

import numpy as np
from numpy.typing import NDArray
from scipy.signal import lfilter

from dashboard.detection import Point

Floats = NDArray[np.float64]
Noise = Callable[[np.random.Generator, tuple[int, int]], Floats]

LEVEL = 100.0
SETTLING = 50


def gaussian(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent, standard deviation 2."""
    return generator.normal(0, 2, shape)


def heavy_tails(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Student's t with 3 degrees of freedom, scaled to a standard deviation of 2."""
    return np.asarray(generator.standard_t(3, shape) * 2 / np.sqrt(3))


def autocorrelated(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """AR(1) with a correlation of 0.5 between neighbours, stationary from its first point."""
    fresh = generator.normal(0, 2 * np.sqrt(0.75), (shape[0], shape[1] + SETTLING))
    return np.asarray(lfilter([1.0], [1.0, -0.5], fresh)[:, SETTLING:])


def outliers(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Independent, standard deviation 2, and 2% of the points are 20% higher."""
    return generator.normal(0, 2, shape) + 20 * (generator.random(shape) < 0.02)


def two_modes(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
    """Each point at random in one of two modes, at -3 and +3, with a standard deviation of 1."""
    return 3 * generator.choice([-1.0, 1.0], shape) + generator.normal(0, 1, shape)


KINDS: dict[str, Noise] = {
    "gaussian": gaussian,
    "Student t(3)": heavy_tails,
    "AR(1) 0.5": autocorrelated,
    "2% outliers": outliers,
    "two modes": two_modes,
}


def points(values: Floats) -> list[Point]:
    """Values as the points of a series."""
    return [Point(value, None, None, position) for position, value in enumerate(values.tolist())]
