"""Print how good the detector is: false alerts, delays, drift, power and cost, each with its 95 %
bounds.

    python -m tests.perf.detector            the whole table, from the final seeds (minutes)
    python -m tests.perf.detector --quick    what the tests run: fewer series, from the development
    seeds python -m tests.perf.detector --quick --record    accept today's quick figures as what
    later detectors must reach

Set OTAVA_PYTHON to the interpreter of an environment that has apache-otava, and the cost is
compared with its. The final seeds are for the table in docs/detection.md: never look at them while
changing the detector.
"""

import argparse
import sys
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from dashboard.detection import Settings, find_change_points, smallest_change_shown
from tests.perf.bounds import Figure, fallen_behind, median, rate, record, share
from tests.perf.cost import costs
from tests.perf.noise import KINDS, LEVEL, Floats, Noise, gaussian, points

SETTINGS = Settings()
NEVER = 99.0


@dataclass(frozen=True, slots=True)
class Size:
    """How much is simulated: noise series for each length, steps for each kind, the seed."""

    lengths: dict[int, int]
    steps: int
    drifts: int
    powers: int
    seed: int


def told(values: Floats) -> list[tuple[int, str]]:
    """Where the online detector tells a change, point by point, and as what.

    Asked of the form for whole series, which makes the same decisions (a test compares the two) and
    is faster.
    """
    return [
        (change.seen_at, change.cause) for change in find_change_points(points(values), SETTINGS)
    ]


QUICK = Size({250: 200}, 250, 60, 25, 1)
FINAL = Size({100: 1000, 250: 400, 1000: 100}, 800, 300, 200, 20261121)


def random_of(size: Size, *purpose: int) -> np.random.Generator:
    """A generator of its own for each purpose, so that one figure does not move another."""
    return np.random.default_rng([size.seed, *purpose])


def false_alerts(size: Size) -> Iterator[Figure]:
    """Alerts on pure noise."""
    for place, (kind, noise) in enumerate(KINDS.items()):
        for length, series in size.lengths.items():
            values = LEVEL + noise(random_of(size, 1, place, length), (series, length))
            alerts = sum(len(told(row)) for row in values)
            yield rate(f"false alerts per 1,000, {kind}, length {length}", alerts, values.size)


def delays_of(
    size: Size, noise: Noise, purpose: int, step: float, places: range, tail: int = 40
) -> Floats:
    """Points of the new level seen when a step is told, the first of them counted as 1; NEVER if
    not within tail.
    """
    generator, delays = random_of(size, 2, purpose), np.full(size.steps, NEVER)
    for attempt in range(size.steps):
        at = int(generator.choice(places))
        values = LEVEL + noise(generator, (1, at + tail))[0]
        values[at:] += step * generator.choice([-1.0, 1.0])
        seen = [place - at + 1 for place, _ in told(values) if place >= at]
        delays[attempt] = seen[0] if seen else NEVER
    return delays


def delays(size: Size) -> Iterator[Figure]:
    """Steps of 5 % at any place after 20 points, and of 10 % in a noise of 3 %."""
    for place, (kind, noise) in enumerate(KINDS.items()):
        seen = delays_of(size, noise, place, 5.0, range(20, 200))
        yield median(f"5 % step, {kind}: median delay, points", seen)
        yield share(f"5 % step, {kind}: % within 4 points", int((seen <= 4).sum()), len(seen))
        yield share(f"5 % step, {kind}: % within 6 points", int((seen <= 6).sum()), len(seen))
        yield share(f"5 % step, {kind}: % within 40 points", int((seen < NEVER).sum()), len(seen))
    for early, late in ((20, 60), (60, 120), (120, 200)) if size is FINAL else ():
        for place, (kind, noise) in enumerate(KINDS.items()):
            seen = delays_of(size, noise, 100 + 10 * early + place, 5.0, range(early, late))
            yield median(f"5 % step after {early} to {late} points, {kind}: median", seen)

    def noisy(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return 1.5 * gaussian(generator, shape)

    seen = delays_of(size, noisy, 50, 10.0, range(20, 200))
    yield median("10 % step in 3 % noise: median delay, points", seen)
    yield share("10 % step in 3 % noise: % within 3 points", int((seen <= 3).sum()), len(seen))


def drifts(size: Size) -> Iterator[Figure]:
    """A drift of 3 % over 500 points in a noise of 2 %: the threshold of 2 % is passed after
    333.
    """
    generator, slope = random_of(size, 3), 3 * np.arange(500) / 500
    series = [told(LEVEL + slope + gaussian(generator, (1, 500))[0]) for _ in range(size.drifts)]
    early = sum(any(place < 333 for place, _ in row) for row in series)
    yield share(
        "drift: % with an alert before the threshold is passed",
        early,
        len(series),
        more_is_better=False,
    )
    as_drift = sum(any(cause == "drift" for _, cause in row) for row in series)
    yield share("drift: % told as drift within the 500 points", as_drift, len(series))
    yield share("drift: % told once", sum(len(row) == 1 for row in series), len(series))


def powers(size: Size) -> Iterator[Figure]:
    """Steps of the size that "can show" promises, after 150 points: 90 % are to be found within
    40.
    """
    for place, (kind, noise) in enumerate(KINDS.items()):
        generator, found = random_of(size, 4, place), 0
        for _ in range(size.powers):
            values = LEVEL + noise(generator, (1, 190))[0]
            shown = smallest_change_shown(points(values[:150]), SETTINGS) or 0.0
            values[150:] *= 1 + generator.choice([-1.0, 1.0]) * shown / 100
            found += any(seen >= 150 for seen, _ in told(values))
        yield share(f"power, {kind}: % found of the smallest change shown", found, size.powers)


def figures(size: Size) -> Iterator[Figure]:
    """Every figure, in the order of the table."""
    for part in (false_alerts, delays, drifts, powers):
        yield from part(size)


def main() -> int:
    """Print the table; 1 if a quick figure is worse than recorded."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--quick",
        action="store_true",
        help="fewer series, development seeds, compare with the record",
    )
    parser.add_argument(
        "--record", action="store_true", help="with --quick: accept today's figures"
    )
    asked = parser.parse_args()
    known = []
    for figure in figures(QUICK if asked.quick else FINAL):
        print(figure, flush=True)
        known.append(figure)
    for line in costs():
        print(line)
    if asked.record:
        record(known)
    worse = fallen_behind(known) if asked.quick else []
    print("\n".join(["", "worse than recorded:", *worse]) if worse else "")
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
