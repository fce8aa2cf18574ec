"""Print how good the detector is: false alerts, delays, drift and power, with 95% bounds.

    python -m tests.lab.detector
        the whole table, from the final seeds (many minutes)
    python -m tests.lab.detector --hard
        the cases that are hard for a detector, alone
    python -m tests.lab.detector --cost
        the time that a whole series takes
    python -m tests.lab.detector --quick
        what the tests run: fewer series, from the development seeds
    python -m tests.lab.detector --quick --record
        accept today's quick figures as what later detectors must reach

The final seeds are for the table in docs/detection.md: never look at them while
changing the detector.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from importlib.util import find_spec
from time import process_time

import numpy as np

from dashboard.detection import SeriesState, judge, smallest_change_shown
from tests.lab.bounds import Figure, fallen_behind, median, rate, record, share
from tests.lab.hard_cases import hard_cases, limits
from tests.lab.noise import KINDS, LEVEL, Floats, Noise, gaussian, points
from tests.lab.simulation import (
    FINAL,
    NEVER,
    QUICK,
    SETTINGS,
    Size,
    delay,
    quiet_run,
    random_of,
    reports,
)

LIMITS_AT = (100, 250)
"""Lengths after which it is counted how many series are not judged, or late."""


def noise_alerts(size: Size) -> Iterator[Figure]:
    """Alerts on pure noise."""
    for place, (kind, noise) in enumerate(KINDS.items()):
        for length, series in size.lengths.items():
            values = LEVEL + noise(random_of(size, 1, place, length), (series, length))
            name = f"false alerts per 1,000, {kind}, length {length}"
            quiet = quiet_run(values)
            yield rate(name, quiet.alerts, values.size)
            if length in LIMITS_AT:
                yield from limits(kind, length, quiet, series)


def delays_of(
    size: Size, noise: Noise, purpose: int, step: float, places: range, tail: int = 40
) -> Floats:
    """Points of the new level seen when a step is reported, the first of them counted as 1; NEVER
    if it is not within `tail`.
    """
    generator, delays = random_of(size, 2, purpose), np.full(size.steps, NEVER)
    for attempt in range(size.steps):
        at = int(generator.choice(places))
        values = LEVEL + noise(generator, (1, at + tail))[0]
        values[at:] += step * generator.choice([-1.0, 1.0])
        delays[attempt] = delay(values, at)
    return delays


def delays(size: Size) -> Iterator[Figure]:
    """Steps of 5% at any place after 20 points, and of 10% in a noise of 3%."""
    for place, (kind, noise) in enumerate(KINDS.items()):
        seen = delays_of(size, noise, place, 5.0, range(20, 200))
        yield median(f"5% step, {kind}: median delay, points", seen)
        yield share(f"5% step, {kind}: % within 4 points", int((seen <= 4).sum()), len(seen))
        yield share(f"5% step, {kind}: % within 6 points", int((seen <= 6).sum()), len(seen))
        yield share(f"5% step, {kind}: % within 40 points", int((seen < NEVER).sum()), len(seen))
    histories = ((20, 60), (60, 120), (120, 200)) if size is FINAL else ()
    for early, late in histories:
        for place, (kind, noise) in enumerate(KINDS.items()):
            seen = delays_of(size, noise, 100 + 10 * early + place, 5.0, range(early, late))
            yield median(f"5% step after {early} to {late} points, {kind}: median", seen)

    def noisy(generator: np.random.Generator, shape: tuple[int, int]) -> Floats:
        return 1.5 * gaussian(generator, shape)

    seen = delays_of(size, noisy, 50, 10.0, range(20, 200))
    yield median("10% step in 3% noise: median delay, points", seen)
    yield share("10% step in 3% noise: % within 3 points", int((seen <= 3).sum()), len(seen))


def drifts(size: Size) -> Iterator[Figure]:
    """A drift of 3% over 500 points in a noise of 2%: the threshold of 2% is passed after
    333.
    """
    generator, slope = random_of(size, 3), 3 * np.arange(500) / 500
    early = as_drift = once = 0
    for _ in range(size.drifts):
        values = LEVEL + slope + gaussian(generator, (1, 500))[0]
        reported = list(reports(values))
        early += any(report.seen_at < 333 for report in reported)
        as_drift += any(report.verdict.cause == "drift" for report in reported)
        once += sum(not report.verdict.is_return for report in reported) == 1
    yield share(
        "drift: % with an alert before the threshold is passed",
        early,
        size.drifts,
        more_is_better=False,
    )
    yield share("drift: % told as drift within the 500 points", as_drift, size.drifts)
    yield share("drift: % told once", once, size.drifts)


def powers(size: Size) -> Iterator[Figure]:
    """Steps of the size that "can show" promises, after 150 points: 90% are to be found within
    40.
    """
    for place, (kind, noise) in enumerate(KINDS.items()):
        generator, hits = random_of(size, 4, place), 0
        for _ in range(size.powers):
            values = LEVEL + noise(generator, (1, 190))[0]
            state, _ = judge(points(values[:150]), SeriesState(SETTINGS))
            shown = smallest_change_shown(state) or 0.0
            values[150:] *= 1 + generator.choice([-1.0, 1.0]) * shown / 100
            _, reported = judge(points(values[150:]), state)
            hits += any(report.verdict.state == "changed" for report in reported)
        yield share(f"power, {kind}: % found of the smallest change shown", hits, size.powers)


def costs() -> Iterator[str]:
    """CPU time of a whole series of 500 points, the least of five runs over 20 series; and of
    Apache Otava on the same values, where it is installed.
    """
    generator = np.random.default_rng(5)
    series = [LEVEL + noise(generator, (1, 500))[0] for noise in KINDS.values() for _ in range(4)]
    ours = _least_ms([(judge, (points(values), SeriesState(SETTINGS))) for values in series])
    yield f"this detector: {ours:.1f} ms"
    if find_spec("otava"):
        from otava.analysis import compute_change_points  # type: ignore[import-not-found]

        theirs = _least_ms([(compute_change_points, (values.tolist(),)) for values in series])
        yield f"Otava: {theirs:.1f} ms, so that this one takes {ours / theirs:.2f} times as long"


def _least_ms(calls: list[tuple[Callable[..., object], tuple[object, ...]]]) -> float:
    """CPU time of a call."""
    times = []
    for _ in range(5):
        began = process_time()
        for call, arguments in calls:
            call(*arguments)
        times.append(1000 * (process_time() - began) / len(calls))
    return min(times)


def figures(size: Size) -> Iterator[Figure]:
    """Every figure, in the order of the table."""
    for part in (noise_alerts, delays, drifts, powers, hard_cases):
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
    parser.add_argument("--hard", action="store_true", help="the hard cases alone")
    parser.add_argument("--cost", action="store_true", help="CPU time, next to Otava's")
    options = parser.parse_args()
    if options.cost:
        print(*costs(), sep="\n")
        return 0
    measured = []
    table = hard_cases if options.hard else figures
    for figure in table(QUICK if options.quick else FINAL):
        print(figure, flush=True)
        measured.append(figure)
    if options.record:
        record(measured)
    worse = fallen_behind(measured) if options.quick else []
    if worse:
        print("\n".join(["", "worse than recorded:", *worse]))
    return bool(worse)


if __name__ == "__main__":
    sys.exit(main())
