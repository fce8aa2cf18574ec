"""From a metric's own unit to the scale on which noise is judged, and back."""

from dataclasses import dataclass

import numpy as np

from dashboard.detection.points import Settings, Unit
from dashboard.detection.tables import Floats

LEAST_PERCENT = 1e-6


@dataclass(frozen=True, slots=True)
class Ruler:
    """How the values of one level are read.

    reference: the value that is 0 percent; 0 where values are read as they are (a level of 0).
    counts: values are counts, read as 2 √(n + 3/8), which has a standard deviation of 1 for Poisson
        noise whatever
    the level (Anscombe 1948).
    """

    reference: float
    counts: bool

    @classmethod
    def at(cls, values: Floats, settings: Settings) -> "Ruler":
        """The ruler for a level that has these values."""
        return cls(float(np.median(values)), settings.kind == "count")

    def read(self, values: Floats) -> Floats:
        """Values in percent of the reference (or in Anscombe's unit, or as they are). Raises on
        negative counts.
        """
        if self.counts:
            if values.min() < 0:
                raise ValueError(
                    f"a count is {values.min():g}; counts are 0 or more: check the series' "
                    "Settings.kind"
                )
            return np.asarray(2 * np.sqrt(values + 0.375), dtype=float)
        return (values - self.reference) * (100 / abs(self.reference)) if self.reference else values

    def widths(self, spreads: Floats) -> Floats:
        """Standard errors on the same scale; within-job spread says nothing of counts."""
        if self.counts:
            return np.zeros_like(spreads)
        return spreads * (100 / abs(self.reference)) if self.reference else spreads

    def threshold(self, settings: Settings) -> float:
        """The smallest change worth telling on this scale; 0 where percent have no meaning."""
        if not self.reference or self.counts:
            return 0.0
        return max(settings.threshold_percent, 100 * settings.least / abs(self.reference))

    def floor(self, settings: Settings) -> float:
        """The smallest noise that is believed on this scale."""
        return 1.0 if self.counts else max(self.threshold(settings) / 8, LEAST_PERCENT)

    @property
    def unit(self) -> Unit:
        """What an effect is given in."""
        return "difference" if self.counts or not self.reference else "percent"

    def value(self, reading: float) -> float:
        """The value, in the metric's unit, that reads so."""
        if self.counts:
            return max(0.0, (reading / 2) ** 2 - 0.375) if reading > 0 else 0.0
        return self.reference + abs(self.reference) * reading / 100 if self.reference else reading

    def effect(self, before: float, after: float) -> float:
        """Change between two readings, in `unit`."""
        old, new = self.value(before), self.value(after)
        if self.unit == "difference":
            return new - old
        return 100 * (new - old) / max(abs(old), LEAST_PERCENT / 100 * abs(self.reference))
