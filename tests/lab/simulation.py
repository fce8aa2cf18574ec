"""Series for a detector, and what it reports of them: what the tables of figures are made with."""

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from dashboard.detection import (
    Report,
    SeriesNoise,
    SeriesState,
    Settings,
    UsualNoise,
    judge,
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


def borrowed(noise: Noise, generator: np.random.Generator) -> UsualNoise | None:
    """What is usual among ten other series of a noise, of 150 points each."""
    others = []
    for values in LEVEL + noise(generator, (10, 150)):
        state, _ = judge(points(values), SeriesState(SETTINGS))
        if (series_noise := noise_of(state)) is not None:
            others.append(series_noise)
    return usual_noise(others)


def noise_of(state: SeriesState) -> SeriesNoise | None:
    """The noise of a series as another one borrows it."""
    if not isinstance(state.segment, Watching):
        return None
    model = state.segment.fit.model
    return SeriesNoise(model.rho, model.scale, model.points)


def reports(values: Floats, state: str = "changed", devices: Sequence[int] = ()) -> list[Report]:
    """What is reported of a series, oldest first.

    devices: the one of each point; empty where they are not known.
    """
    series = points(values)
    if devices:
        pairs = zip(series, devices, strict=True)
        series = [replace(point, device=f"gpu {device}") for point, device in pairs]
    _, reported = judge(series, SeriesState(SETTINGS))
    return [report for report in reported if report.verdict.state == state]


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
        state, reported = judge(points(row), SeriesState(SETTINGS, usual))
        changes = [each.verdict for each in reported if each.verdict.state == "changed"]
        alerts += sum(not verdict.is_return for verdict in changes)
        if state.limit is not None:
            wandering += state.limit.reason == "wanders"
            late += state.limit.reason == "bursts"
    return QuietRun(alerts, wandering, late)


def delay(values: Floats, at: int, usual: UsualNoise | None = None) -> float:
    """Points of the level that begins at `at` until a change is reported; NEVER if none is."""
    _, reported = judge(points(values), SeriesState(SETTINGS, usual))
    for report in reported:
        if report.verdict.state == "changed" and report.seen_at >= at:
            return float(report.seen_at - at + 1)
    return NEVER


def random_of(size: Size, *purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose, so that one figure does not move another."""
    return np.random.default_rng([size.seed, *purpose])
