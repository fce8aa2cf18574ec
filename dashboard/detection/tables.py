"""Log densities of the noise laws on a grid, so that scoring a point is a look-up.

The grid counts quarters of the law's scale and reaches far enough for a residual and a shift of
REACH scales each. Rounding a residual to a quarter of its scale costs less than 1 % of the
information in it.
"""

from math import lgamma, log, pi

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

STEPS = 4
REACH = 14
EDGE = STEPS * REACH
CENTRE = 2 * EDGE
GRID: Floats = np.arange(-CENTRE, CENTRE + 1) / STEPS

ANYTHING = 0.02
"""Share of points that are taken to come from anywhere. A point far from the old level and from the
tested new one says nothing for either, so that an outlier supports no step but one of its own size,
and none by more than 6.3 nats.
"""

DEGREES: Floats = np.array([3.0, 4.0, 6.0, 10.0, 30.0])
"""Tail weights for which there is a table: Student's t with so many degrees of freedom. 30 is as
good as Gaussian.
"""


def student_constant(degrees: float) -> float:
    """The logarithm of the factor that makes Student's density integrate to 1."""
    return lgamma((degrees + 1) / 2) - lgamma(degrees / 2) - log(degrees * pi) / 2


def student(x: Floats, degrees: float) -> Floats:
    """Log density of Student's t at x, in scales."""
    density: Floats = student_constant(degrees) - (degrees + 1) / 2 * np.log1p(x * x / degrees)
    return density


def two_modes(half_distance: float, lower_share: float) -> Floats:
    """Log density on GRID of two modes at ± half_distance (in scales of one mode), each a t with 10
    degrees.
    """
    lower, upper = student(GRID + half_distance, 10.0), student(GRID - half_distance, 10.0)
    mixed: Floats = np.logaddexp(log(lower_share) + lower, log(1 - lower_share) + upper)
    return contaminated(mixed)


def contaminated(density: Floats) -> Floats:
    """A log density with ANYTHING of it spread evenly over ± REACH scales."""
    return np.asarray(np.logaddexp(log(1 - ANYTHING) + density, log(ANYTHING / (2 * REACH))))


STUDENT: Floats = np.array([contaminated(student(GRID, float(degrees))) for degrees in DEGREES])
