"""From a metric's own unit to the scale on which noise is judged, and back."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from dashboard.detection.points import Settings, Unit
from dashboard.detection.tables import Floats

SMALLEST_PERCENT = 1e-6
"""Noise below this, in percent, is rounding."""
ANSCOMBE = 0.375
"""2 √(n + 3/8) of a Poisson count n has a standard deviation of 1 at any level (Anscombe 1948)."""


@dataclass(frozen=True, slots=True)
class ValueScale:
    """Scale on which the values of one level are read. A value on it is called a *reading*.

    reference: the value that is 0 percent, in the metric's unit. Where it is 0, percent have no
        meaning, and a reading is the value itself.
    counts: readings are Anscombe's square roots of counts.
    """

    reference: float
    counts: bool

    def readings(self, values: Sequence[float]) -> Floats:
        """Values on this scale, (points,). Raises ValueError for a negative count."""
        plain = np.array(values)
        if self.counts:
            if plain.min(initial=0.0) < 0:
                raise ValueError(
                    f"a count is {plain.min():g}; counts are 0 or more: "
                    "check the series' Settings.kind"
                )
            return np.asarray(2 * np.sqrt(plain + ANSCOMBE))
        if not self.reference:
            return plain
        return np.asarray((plain - self.reference) * self._percent_per_unit)

    def standard_errors(self, errors: Sequence[float]) -> Floats:
        """Standard errors, in the metric's unit, on this scale, (points,).

        0 for counts: the spread within a job says nothing of them.
        """
        if self.counts:
            return np.zeros(len(errors))
        if not self.reference:
            return np.array(errors)
        return np.array(errors) * self._percent_per_unit

    @property
    def _percent_per_unit(self) -> float:
        return 100 / abs(self.reference)

    def threshold(self, settings: Settings) -> float:
        """The smallest change worth reporting on this scale; 0 where percent have no meaning."""
        if not self.reference or self.counts:
            return 0.0
        return max(settings.threshold_percent, 100 * settings.least / abs(self.reference))

    def smallest_noise(self, settings: Settings) -> float:
        """The smallest standard deviation that is believed, on this scale.

        An eighth of the threshold: noise below it changes no decision. Poisson noise is 1.
        """
        if self.counts:
            return 1.0
        return max(self.threshold(settings) / 8, SMALLEST_PERCENT)

    @property
    def unit(self) -> Unit:
        """The unit of an effect."""
        return "difference" if self.counts or not self.reference else "percent"

    def value(self, reading: float) -> float:
        """The value, in the metric's unit, of a reading."""
        if self.counts:
            # The inverse of 2 √(n + 3/8); a reading below that of n = 0 is a level of 0
            return max(0.0, (reading / 2) ** 2 - ANSCOMBE) if reading > 0 else 0.0
        if not self.reference:
            return reading
        return self.reference + abs(self.reference) * reading / 100

    def effect(self, before: float, after: float) -> float:
        """Change from one reading to another, in `unit`."""
        old_value, new_value = self.value(before), self.value(after)
        difference = new_value - old_value
        if self.unit == "difference":
            return difference
        # An old level next to 0 would make the percentage infinite
        return 100 * difference / max(abs(old_value), SMALLEST_PERCENT / 100 * abs(self.reference))
