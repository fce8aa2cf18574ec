"""A spread that grows while the level stays: a CUSUM of twice the noise against the noise.

Wide points on one side look like a step. What tells the two apart are the points before them, on
the other side: they belong to a wider noise, and to no step.
"""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.noise_model import NoiseModel
from dashboard.detection.tables import CENTRE, EDGE, STEPS_PER_SCALE, Floats, clipped

REQUIRED_NATS = 6.0
"""Evidence of a wider noise that is reported (tests/lab/hard_cases.py has the false ones)."""
PER_POINT = 14.0
"""More of it while the model comes from few points, by their number, inversely."""
BEYOND_STEP = 3.0
"""Nats by which a wider noise must be more likely than a step, for a step looks like noise, too."""
INSTEAD_OF_STEP = 0.9
"""Share of a step's evidence from which a wider noise explains its points as well."""
FEWEST_POINTS = 6
SMALLEST_RATIO, LARGEST_RATIO = 1.4, 4.0
"""What the spread is multiplied with, at least and at most: less is not a wider noise."""


@dataclass(frozen=True, slots=True)
class Widening:
    """The best run of points under twice the noise: its log likelihood ratio and its points."""

    total: float = 0.0
    length: int = 0

    def after_each(self, innovations: Floats, ratios: Floats) -> list["Widening"]:
        """The run after each of some points: S = max(S, 0) + ratio, Page's recursion.

        innovations: (points,), in scales. ratios: `NoiseModel.wider_ratios`.
        """
        places = np.rint(clipped(innovations * STEPS_PER_SCALE, EDGE)).astype(int) + CENTRE
        total, length = self.total, self.length
        after = []
        for ratio in ratios[places].tolist():
            if total <= 0:
                total, length = ratio, 1
            else:
                total, length = total + ratio, length + 1
            after.append(Widening(total, length))
        return after

    def is_proven(self, model: NoiseModel, step_nats: float) -> bool:
        """Test whether the noise has become wider. step_nats: evidence of a step instead."""
        # What is estimated from n points has a variance of the order of 1/n; and a run of N points
        # is worth n / (n + N) of its sum, as in `cusum`
        worth = self.total * model.points / (model.points + self.length)
        needed = REQUIRED_NATS * (1 + PER_POINT / model.points)
        if self.length < FEWEST_POINTS or self.total < step_nats + BEYOND_STEP:
            return False
        return worth >= needed * model.bar

    def explains(self, step_nats: float) -> bool:
        """Test whether it explains what looks like a step of so much evidence as well."""
        return self.total >= INSTEAD_OF_STEP * step_nats


NO_WIDENING = Widening()


def spread_ratio(innovations: Floats) -> float:
    """Return how much wider the innovations (points,), in scales, are than the noise.

    Around their own mean: on one side of 0 they are a step, or a drift.
    """
    return float(np.std(clipped(innovations, LARGEST_RATIO), ddof=1))
