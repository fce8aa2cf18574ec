"""Usual noise of one metric on one machine, from the series that have history: a young series
borrows it, because twenty points cannot show their autocorrelation.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from dashboard.detection.tables import Floats

FEWEST_SERIES = 5
"""Series from which something can be called usual."""
FEWEST_POINTS = 60
"""Points that the noise of each of them comes from, at least."""
SMALLEST_RHO_ERROR, SMALLEST_SCALE_ERROR = 0.06, 0.05
"""However alike the series are, the next one may differ so much."""
MOST_POINTS = 120
"""What is borrowed is worth so many points of the series' own, at most."""


class SeriesNoise(NamedTuple):
    """The noise of one series: autocorrelation, scale in percent, points that it comes from."""

    rho: float
    scale: float
    points: float

    @property
    def lends(self) -> bool:
        """True where it comes from enough points to say what is usual."""
        return self.points >= FEWEST_POINTS and self.scale > 0


@dataclass(frozen=True, slots=True)
class UsualNoise:
    """Noise to expect of a series: its autocorrelation and the logarithm of its scale (percent),
    with standard deviations between series.
    """

    rho: float
    rho_error: float
    log_scale: float
    log_scale_error: float

    @property
    def points(self) -> float:
        """The points of a series that would say as much."""
        # The variances of estimates from n points: (1 - rho²) / n, and 1 / (2 n)
        of_rho = (1 - self.rho * self.rho) / self.rho_error**2
        of_scale = 0.5 / self.log_scale_error**2
        return min(of_rho, of_scale, MOST_POINTS)


def usual_noise(others: Sequence[SeriesNoise]) -> UsualNoise | None:
    """Estimate the usual noise from other series; None where they are too few."""
    settled = [other for other in others if other.lends]
    if len(settled) < FEWEST_SERIES:
        return None
    rho, rho_error = _middle_and_spread(np.array([other.rho for other in settled]))
    log_scales = np.log([other.scale for other in settled])
    log_scale, log_scale_error = _middle_and_spread(log_scales)
    return UsualNoise(
        rho=rho,
        rho_error=max(rho_error, SMALLEST_RHO_ERROR),
        log_scale=log_scale,
        log_scale_error=max(log_scale_error, SMALLEST_SCALE_ERROR),
    )


def _middle_and_spread(values: Floats) -> tuple[float, float]:
    """Median, and robust standard deviation, with the error of the median."""
    middle = float(np.median(values))
    spread = 1.4826 * float(np.median(np.abs(values - middle)))
    return middle, spread * float(np.sqrt(1 + 1.57 / len(values)))
