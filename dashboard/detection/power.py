"""The smallest change that a series can show: what the detector, on this series' own noise, finds 9
times of 10.
"""

from collections.abc import Sequence

import numpy as np

from dashboard.detection import bank
from dashboard.detection.law import Laws
from dashboard.detection.online import OnlineDetector
from dashboard.detection.points import Point, Settings
from dashboard.detection.ruler import Ruler
from dashboard.detection.tables import CENTRE, GRID, REACH, Floats

WITHIN = 36
"""Points after a change that are simulated: later ones, up to the 40 promised, already pull the
level along.
"""
FOUND = 0.9
TRIES = 400


def smallest_change_shown(
    points: Sequence[Point] | OnlineDetector, settings: Settings | None = None, seed: int = 0
) -> float | None:
    """Smallest step, in percent of the level, of which 90 % are found within 40 points; never under
    the threshold.

    points: the series' points with its settings, or a detector that has seen them. Steps of growing
        size are
    simulated on the estimated noise law and run through the same bank of tests. None while the
    series is too young or has no percent (counts, status words, a level of 0); the threshold itself
    where it holds one value exactly. Raises ValueError if points come without settings. Takes tens
    of milliseconds: keep the answer.
    """
    detector = points if isinstance(points, OnlineDetector) else detector_of(points, settings)
    if detector.held.quiet() and detector.settings.kind in ("continuous", "constant"):
        return (
            Ruler(detector.held.value, False).threshold(detector.settings)
            or detector.settings.threshold_percent
        )
    if detector.law is None or detector.ruler is None or detector.ruler.unit != "percent":
        return None
    threshold = detector.ruler.threshold(detector.settings)
    law, generator = detector.law, np.random.default_rng(seed)
    noise, offsets = draws(law, generator)
    low, high = threshold, max(threshold, float(REACH * law.scale[0]))
    if share_found(low, law, noise, offsets, threshold) >= FOUND:
        return low
    if share_found(high, law, noise, offsets, threshold) < FOUND:
        return None
    while high - low > 0.02 * high:
        middle = (low + high) / 2
        found = share_found(middle, law, noise, offsets, threshold) >= FOUND
        low, high = (low, middle) if found else (middle, high)
    return high


def detector_of(points: Sequence[Point], settings: Settings | None) -> OnlineDetector:
    """A detector that has seen the points."""
    if settings is None:
        raise ValueError("smallest_change_shown needs the series' Settings beside its points")
    detector = OnlineDetector(settings)
    for point in points:
        detector.take(point)
    return detector


def draws(law: Laws, generator: np.random.Generator) -> tuple[Floats, Floats]:
    """Innovations (TRIES, WITHIN + 1) from the law, and what each try's level is off by (TRIES,);
    in percent.
    """
    inner = slice(CENTRE - CENTRE // 2, CENTRE + CENTRE // 2 + 1)
    weights = np.exp(law.tables[law.shape[0]][inner])
    drawn = (
        generator.choice(GRID[inner], (TRIES, WITHIN + 1), p=weights / weights.sum()) * law.scale[0]
    )
    rho = law.rho[0]
    error = law.marginal[0] * np.sqrt((1 + rho) / (1 - rho) / law.own[0])
    return drawn, generator.normal(0, error, TRIES)


def share_found(step: float, law: Laws, noise: Floats, offsets: Floats, threshold: float) -> float:
    """Share of the tries in which a step of that many percent is found within WITHIN points."""
    level, rho, row = law.level[0], law.rho[0], np.zeros(TRIES, dtype=int)
    sums, counts = np.zeros((2 * bank.SIZES, TRIES)), np.zeros((2 * bank.SIZES, TRIES), dtype=int)
    found, none = np.zeros(TRIES, dtype=bool), np.zeros(TRIES)
    wandering = before = noise[:, 0]
    for now in range(1, WITHIN + 1):
        wandering = rho * wandering + noise[:, now]
        value = wandering + offsets + step
        fresh = bank.fresh_parts(level + value, level + before, none, law, row)
        sums, counts = bank.step(sums, counts, *bank.scores(fresh, law, row, threshold))
        found |= bank.surplus(sums, counts, law, row).max(axis=0) >= 1
        before = value
    return float(found.mean())
