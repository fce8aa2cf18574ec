"""Series for a detector, and what it reports of them: what the tables of figures are made with."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np

from dashboard.detection import (
    OnlineDetector,
    SeriesNoise,
    Settings,
    UsualNoise,
    Verdict,
    usual_noise,
)
from dashboard.detection.segment import Watching
from tests.lab.noise import LEVEL, Floats, Noise, points

SETTINGS = Settings()
NEVER = 99.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated: noise series for each length, steps for each kind, the seed.

    hard: series for each hard case (`hard_cases`).
    """

    lengths: dict[int, int]
    steps: int
    drifts: int
    powers: int
    hard: int
    seed: int


QUICK = Size({250: 200}, 250, 60, 25, 20, 1)
FINAL = Size({100: 1000, 250: 1000, 1000: 250}, 1000, 1000, 400, 1000, 20261123)


@dataclass(frozen=True, slots=True)
class Report:
    """A verdict "changed", and the index of the point that it came with."""

    seen_at: int
    verdict: Verdict


def borrowed(noise: Noise, generator: np.random.Generator) -> UsualNoise | None:
    """What is usual among ten other series of a noise, of 150 points each."""
    others = []
    for values in LEVEL + noise(generator, (10, 150)):
        detector = OnlineDetector(SETTINGS)
        for point in points(values):
            detector.update(point)
        if (series_noise := noise_of(detector)) is not None:
            others.append(series_noise)
    return usual_noise(others)


def noise_of(detector: OnlineDetector) -> SeriesNoise | None:
    """The noise of a series as another one borrows it."""
    segment = detector.series.segment
    if not isinstance(segment, Watching):
        return None
    model = segment.fit.model
    return SeriesNoise(model.rho, model.scale, model.points)


def reports(
    values: Floats,
    detector: OnlineDetector | None = None,
    state: str = "changed",
    devices: Sequence[int] = (),
) -> Iterator[Report]:
    """The changes that a detector reports, in their order; it may have seen points before.

    devices: the one of each point; empty where they are not known.
    """
    detector = detector or OnlineDetector(SETTINGS)
    series = points(values)
    if devices:
        pairs = zip(series, devices, strict=True)
        series = [replace(point, device=f"gpu {device}") for point, device in pairs]
    for point in series:
        verdict = detector.update(point)
        if verdict.state == state:
            yield Report(detector.seen - 1, verdict)


def false_alerts(values: Floats, usual: UsualNoise | None = None) -> int:
    """Alerts on series (series, points) without a change: what takes one back is not another."""
    return quiet_run(values, usual).alerts


@dataclass(frozen=True, slots=True)
class QuietRun:
    """What a detector reports of series without a change.

    alerts: changes. wandering, late: series that end as not judged, and as judged late.
    """

    alerts: int
    wandering: int
    late: int


def quiet_run(values: Floats, usual: UsualNoise | None = None) -> QuietRun:
    """What is reported of series (series, points) without a change."""
    alerts = wandering = late = 0
    for row in values:
        detector = OnlineDetector(SETTINGS, usual)
        alerts += sum(not report.verdict.is_return for report in reports(row, detector))
        if detector.limit is not None:
            wandering += detector.limit.reason == "wanders"
            late += detector.limit.reason == "bursts"
    return QuietRun(alerts, wandering, late)


def delay(values: Floats, at: int, usual: UsualNoise | None = None) -> float:
    """Points of the level that begins at `at` until a change is reported; NEVER if none is."""
    for report in reports(values, OnlineDetector(SETTINGS, usual)):
        if report.seen_at >= at:
            return report.seen_at - at + 1
    return NEVER


def random_of(size: Size, *purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose, so that one figure does not move another."""
    return np.random.default_rng([size.seed, *purpose])
