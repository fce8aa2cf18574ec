"""Slow drift: a straight line through the present level, reported once it has risen by the series'
threshold.
"""

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.tables import Floats, clipped

FEWEST_POINTS = 60
PROVEN = 4.0
"""Standard errors by which a drift must differ from none. That is many, because it is looked for
again and again, after every few points.
"""
EXCEEDS = 1.45
"""Standard errors by which it must exceed the threshold."""
LIKELY = 2.5
"""Standard errors from which a drift is likely. A step that is no larger than what the drift may
bring about is then not reported: it waits for the drift to be proven.
"""
SMALL_STEP = 1.75
"""Thresholds up to which a step can be a drift's doing."""
SMALLEST_STEP = 0.75
"""Share of the threshold under which an estimated step is not reported."""
WIDEST = 1.5
"""Deviations that readings scatter by around the line at most: clipped, they scatter by no more."""
CLIPPED_AT = 3
"""Deviations from the level that a reading counts for at most, so that outliers pull little."""


@dataclass(frozen=True, slots=True)
class Line:
    """Sums for a least-squares line through clipped readings y at times t = 0, 1, 2 …

    count: n. total: sum of y. moment: sum of t y. squares: sum of y².
    """

    count: float = 0.0
    total: float = 0.0
    moment: float = 0.0
    squares: float = 0.0

    def with_readings(self, readings: Floats, model: NoiseModel) -> "Line":
        """The line with more readings (percent), each at the next time."""
        limit = CLIPPED_AT * model.deviation
        near = model.level + clipped(readings - model.level, limit)
        count, total, moment, squares = self.count, self.total, self.moment, self.squares
        for reading in near.tolist():
            total += reading
            moment += count * reading
            squares += reading * reading
            count += 1
        return Line(count, total, moment, squares)

    def rise(self, model: NoiseModel) -> "Rise":
        """The rise of the line from its first point to its last; none where it has no points."""
        if not self.count:
            return NO_RISE
        n = max(self.count, 3.0)
        # Slope: sum of (t - mean of t) y, over the sum of (t - mean of t)², which is n (n² - 1)/12
        times_squared = n * (n * n - 1) / 12
        slope = (self.moment - self.total * (n - 1) / 2) / times_squared
        # Many outliers scatter more around the line than the deviation says, which is robust
        squares = self.squares - self.total * self.total / n - slope * slope * times_squared
        scatter = float(np.sqrt(max(squares, 0.0) / n))
        scatter = min(max(scatter, model.deviation), WIDEST * model.deviation)
        # The error of the slope is sqrt(12) sd n^(-3/2), and of the rise n times that.
        # Autocorrelation multiplies it by the root of (1 + rho)/(1 - rho)
        error = scatter * float(np.sqrt(12 / n * (1 + model.rho) / (1 - model.rho)))
        return Rise(slope * (n - 1), error)


NO_LINE = Line()


class Rise(NamedTuple):
    """Rise of a line, and its standard error; in percent."""

    percent: float
    error: float

    def is_drift(self, points: float, threshold: float) -> bool:
        """Test whether the rise over so many points is proven and above the threshold (percent)."""
        needed = max(threshold + EXCEEDS * self.error, PROVEN * self.error)
        return points >= FEWEST_POINTS and abs(self.percent) >= needed

    def explains(self, step: float, threshold: float) -> bool:
        """Test whether a small step (percent) may be due to this drift."""
        likely = abs(self.percent) >= LIKELY * self.error
        same_direction = self.percent * step > 0
        return same_direction and likely and abs(step) < SMALL_STEP * threshold


NO_RISE = Rise(0.0, 1.0)


def is_worth_reporting(step: float, rise: Rise, threshold: float) -> bool:
    """Test whether a step, estimated in percent, is large enough and not due to a likely drift."""
    return abs(step) >= SMALLEST_STEP * threshold and not rise.explains(step, threshold)
