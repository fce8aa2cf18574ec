"""Series of points for the tests of detection, and what the detector reports of them."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from dashboard.detection import OnlineDetector, Point, Settings, Verdict

Floats = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """A verdict "changed" whose numbers are there, and the index of the point that it came with."""

    seen_at: int
    index: int
    cause: str
    unit: str
    effect: float
    effect_low: float
    effect_high: float
    level_before: float
    level_after: float
    is_return: bool


def points(values: Floats | list[float]) -> list[Point]:
    """Values as points, ten positions apart."""
    return [Point(float(value), None, None, 10 * place) for place, value in enumerate(values)]


def quiet(length: int, seed: int = 5) -> Floats:
    """Gaussian noise of 2% around 100 in which nothing looks like a change."""
    return np.asarray(100 + np.random.default_rng(seed).normal(0, 2, length))


def series(step: float, at: int, length: int) -> list[Point]:
    """The quiet series with a step (percent) at a point."""
    values = quiet(length)
    values[at:] += step
    return points(values)


def verdicts(given: Sequence[Point], settings: Settings | None = None) -> list[Verdict]:
    """Return the detector's verdict on each point."""
    detector = OnlineDetector(settings or Settings())
    return [detector.update(point) for point in given]


def changes(given: Sequence[Point], settings: Settings | None = None) -> list[ReportedChange]:
    """Every change that the detector reports, oldest first."""
    reported = []
    for seen_at, verdict in enumerate(verdicts(given, settings)):
        if verdict.state == "changed":
            reported.append(_reported(seen_at, verdict))
    return reported


def _reported(seen_at: int, verdict: Verdict) -> ReportedChange:
    assert verdict.index is not None
    assert verdict.cause is not None
    assert verdict.unit is not None
    assert verdict.effect is not None
    assert verdict.effect_low is not None
    assert verdict.effect_high is not None
    assert verdict.level_before is not None
    assert verdict.level_after is not None
    return ReportedChange(
        seen_at=seen_at,
        index=verdict.index,
        cause=verdict.cause,
        unit=verdict.unit,
        effect=verdict.effect,
        effect_low=verdict.effect_low,
        effect_high=verdict.effect_high,
        level_before=verdict.level_before,
        level_after=verdict.level_after,
        is_return=verdict.is_return,
    )
