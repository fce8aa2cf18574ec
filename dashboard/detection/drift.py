"""Slow drift: a straight line through the present level, told once when it has risen by the series'
threshold.
"""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.law import Bools, Laws
from dashboard.detection.tables import Floats

LEAST_POINTS = 60
PROVEN = 4.0
"""Standard errors by which a drift must differ from none: it is looked for after every few
points.
"""
EXCEEDS = 1.45
"""Standard errors by which it must exceed the threshold."""
LIKELY = 2.5
"""Standard errors from which a drift is likely: a step that is no larger than the drift may bring
about is not told.
"""
SMALL = 1.75
"""Thresholds up to which a step can be a drift's doing."""
LEAST = 0.75
"""Share of the threshold under which an estimated step is not told."""


@dataclass(slots=True)
class Line:
    """Sums for a least-squares line through clipped readings at times 0, 1, 2 …"""

    count: float = 0.0
    total: float = 0.0
    moment: float = 0.0

    def add(self, reading: float) -> None:
        """One more reading at the next time."""
        self.total += reading
        self.moment += self.count * reading
        self.count += 1


def clipped(readings: Floats, level: Floats | float, marginal: Floats | float) -> Floats:
    """Readings no further than 3 deviations from the level that they were judged by, so that
    outliers pull little.
    """
    near: Floats = level + np.clip(readings - level, -3 * marginal, 3 * marginal)
    return near


def rise(count: Floats, total: Floats, moment: Floats, laws: Laws) -> tuple[Floats, Floats]:
    """Rise of the line from its first point to its last (percent) and its standard error, one for
    each row.

    The error of a least-squares slope, sqrt(12) sd n^-3/2, times what autocorrelation adds, the
    root of (1 + rho)/(1 - rho).
    """
    n = np.maximum(count, 3.0)
    slope = (moment - total * (n - 1) / 2) * 12 / (n * (n * n - 1))
    error = laws.marginal * np.sqrt(12 / n * (1 + laws.rho) / (1 - laws.rho))
    return slope * (n - 1), error


def told(count: Floats, risen: Floats, error: Floats, threshold: float) -> Bools:
    """Rows in which a drift is proven and exceeds the threshold (percent)."""
    needed = np.maximum(threshold + EXCEEDS * error, PROVEN * error)
    rows: Bools = (count >= LEAST_POINTS) & (np.abs(risen) >= needed)
    return rows


def worth_telling(step: float, risen: float, error: float, threshold: float) -> bool:
    """Whether a step (percent) is large enough, and more than a likely drift in its direction
    brings about.
    """
    drifting = risen * step > 0 and abs(risen) >= LIKELY * error and abs(step) < SMALL * threshold
    return abs(step) >= LEAST * threshold and not drifting
