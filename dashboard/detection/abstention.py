"""Limits that keep a series from being judged as others are, in words that a page can show.

A change of level is not reported where it cannot be told from the noise itself; and late where the
noise has runs that look like a new level.
"""

from dataclasses import dataclass
from typing import Literal

from dashboard.detection.habits import FEWEST_IF_OUTLIERS
from dashboard.detection.noise_model import NoiseModel

MOST_RHO, MOST_RHO_IF_SETTLED = 0.6, 0.75
"""Autocorrelation up to which a change can be told from wandering. Fewer points show less of it
than there is.
"""
SETTLED_POINTS = 120
"""Points, own and borrowed, from which the autocorrelation is known well."""
BEYOND_NOISE = 6.0
"""Deviations of single values that a level does not wander: such a step is always reported."""


@dataclass(frozen=True, slots=True)
class Limit:
    """Reason why changes of a series are not reported, or reported late.

    reason: "wanders": neighbours resemble each other so much that the level moves by itself;
        smaller changes than `percent` (None where values have no percent) are not reported.
        "bursts": points stray and come back; a change is reported after `points` of its own.
    """

    reason: Literal["wanders", "bursts"]
    percent: float | None = None
    points: int | None = None


def limit_of(model: NoiseModel, fewest: int, in_percent: bool) -> Limit | None:
    """Return the limit that this noise sets; None where the series is judged as others are.

    fewest: points of a new level that are needed.
    """
    if wanders(model):
        return Limit("wanders", percent=BEYOND_NOISE * model.deviation if in_percent else None)
    if fewest >= FEWEST_IF_OUTLIERS:
        return Limit("bursts", points=fewest)
    return None


def wanders(model: NoiseModel) -> bool:
    """Test whether the level moves by itself, so that a change of it says nothing."""
    settled = model.points + model.borrowed >= SETTLED_POINTS
    return model.rho > (MOST_RHO_IF_SETTLED if settled else MOST_RHO)


def is_withheld(step: float, model: NoiseModel) -> bool:
    """Test whether a step (percent) may be the level's own wandering."""
    return wanders(model) and abs(step) < BEYOND_NOISE * model.deviation
