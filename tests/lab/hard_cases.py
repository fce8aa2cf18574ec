"""Cases that escape a detector, or make it cry wolf: a figure or two of each."""

from collections.abc import Iterator

import numpy as np

from tests.lab.bounds import Figure, median, rate, share
from tests.lab.hard_noise import DEVICE_LEVELS, HARD, devices_of
from tests.lab.noise import KINDS, LEVEL, Floats, gaussian, two_modes
from tests.lab.simulation import (
    NEVER,
    QuietRun,
    Size,
    borrowed,
    delay,
    false_alerts,
    quiet_run,
    random_of,
    reports,
)

SERIES_OF_MACHINE = 20
"""Series that borrow from the same ten others."""


def short_history(size: Size, kind: str, borrows: bool) -> Iterator[Figure]:
    """A step of 5% after 25 to 35 points, without and with what ten other series lend."""
    generator, delays = random_of(size, 20), np.full(size.hard, NEVER)
    usual = None
    for attempt in range(size.hard):
        if borrows and attempt % SERIES_OF_MACHINE == 0:
            usual = borrowed(KINDS[kind], generator)
        at = int(generator.integers(25, 36))
        values = LEVEL + KINDS[kind](generator, (1, at + 40))[0]
        values[at:] += 5 * generator.choice([-1.0, 1.0])
        delays[attempt] = delay(values, at, usual)
    within = int((delays < NEVER).sum())
    name = f"5% step after 25 to 35 points, {kind}{', borrowing' if borrows else ''}"
    yield share(f"{name}: % within 40", within, size.hard)
    yield median(f"{name}: median", delays)


def drift_from_the_start(size: Size) -> Iterator[Figure]:
    """10% over 200 points in a noise of 0.5%."""
    generator, as_drift, reported = random_of(size, 21), 0, 0
    slope = 10 * np.arange(200) / 200
    for _ in range(size.hard):
        values = LEVEL + gaussian(generator, (1, 200))[0] / 4 + slope
        causes = [report.verdict.cause for report in reports(values)]
        reported += bool(causes)
        as_drift += "drift" in causes
    yield share("10% drift over 200 points: % reported", reported, size.hard)
    yield share("10% drift over 200 points: % reported as drift", as_drift, size.hard)


def early_step(size: Size, first: float) -> Iterator[Figure]:
    """A step after 3 to 18 points, and one of 5% at the hundredth."""
    generator, early, later = random_of(size, 22), 0, 0
    for _ in range(size.hard):
        at = int(generator.integers(3, 19))
        values = LEVEL + gaussian(generator, (1, 140))[0]
        values[at:] += first
        values[100:] += 5
        seen_at = [report.seen_at for report in reports(values)]
        early += any(place < 60 for place in seen_at)
        later += any(place >= 100 for place in seen_at)
    name = f"{first:g}% step after 3 to 18 points"
    yield share(f"{name}: % reported within 60", early, size.hard)
    yield share(f"{name}: % of a later 5% found", later, size.hard)


def short_level(size: Size) -> Iterator[Figure]:
    """5% for 8 points after 60 to 120, then back."""
    generator, back, there, late = random_of(size, 23), 0, 0, 0
    for _ in range(size.hard):
        at = int(generator.integers(60, 121))
        values = LEVEL + gaussian(generator, (1, at + 48))[0]
        values[at : at + 8] += 5
        seen_at = [report.seen_at - at for report in reports(values)]
        if not any(0 <= place < 8 for place in seen_at):
            continue
        there += 1
        back += any(8 <= place < 14 for place in seen_at)
        late += any(8 <= place < 48 for place in seen_at)
    yield share("5% for 8 points: % reported while there", there, size.hard)
    yield share("5% for 8 points: % of ways back within 6", back, max(there, 1))
    yield share("5% for 8 points: % of ways back within 40", late, max(there, 1))


def wider_spread(size: Size) -> Iterator[Figure]:
    """The spread doubles after 100 points, the level stays."""
    generator, alerts, noisier = random_of(size, 24), 0, 0
    for _ in range(size.hard):
        values = LEVEL + gaussian(generator, (1, 300))[0]
        values[100:] = LEVEL + 2 * (values[100:] - LEVEL)
        later = [report for report in reports(values) if report.seen_at >= 100]
        alerts += sum(not report.verdict.is_return for report in later)
        reported = reports(values, state="noisier")
        noisier += any(report.seen_at >= 100 for report in reported)
    yield rate("spread doubles: level alerts per 1,000", alerts, 200 * size.hard)
    yield share("spread doubles: % reported as noise", noisier, size.hard)


def borrowing(size: Size) -> Iterator[Figure]:
    """Alerts on noise where every series borrows from ten others, 250 points each."""
    for place, kind in enumerate(("gaussian", "AR(1) 0.5", "AR(1) 0.8", "AR(1) 0.9")):
        noise, generator = {**KINDS, **HARD}[kind], random_of(size, 28, place)
        alerts = 0
        for _ in range(size.hard // SERIES_OF_MACHINE):
            usual = borrowed(noise, generator)
            values = LEVEL + noise(generator, (SERIES_OF_MACHINE, 250))
            alerts += false_alerts(values, usual)
        points = size.hard // SERIES_OF_MACHINE * SERIES_OF_MACHINE * 250
        yield rate(f"false alerts per 1,000, {kind}, borrowing", alerts, points)


def settled_bursts(size: Size) -> Iterator[Figure]:
    """Alerts on bursts once 250 points have shown them."""
    series = size.hard // 2
    values = LEVEL + HARD["bursts of 2 to 5"](random_of(size, 29), (series, 500))
    alerts = 0
    for row in values:
        later = [report for report in reports(row) if report.seen_at >= 250]
        alerts += sum(not report.verdict.is_return for report in later)
    yield rate("false alerts per 1,000, bursts, after 250 points", alerts, 250 * series)


def hard_noise(size: Size) -> Iterator[Figure]:
    """Alerts on noise of other kinds, 250 points each."""
    for place, (kind, noise) in enumerate(HARD.items()):
        values = LEVEL + noise(random_of(size, 25, place), (size.hard, 250))
        quiet = quiet_run(values)
        yield rate(f"false alerts per 1,000, {kind}", quiet.alerts, values.size)
        yield from limits(kind, 250, quiet, size.hard)


def limits(kind: str, length: int, quiet: QuietRun, series: int) -> Iterator[Figure]:
    """How many series say after so many points that they are not judged, or late."""
    name = f"{kind}, after {length} points: % of series"
    yield share(f"{name} not judged", quiet.wandering, series, more_is_better=False)
    yield share(f"{name} judged late", quiet.late, series, more_is_better=False)


def devices_in_turn(size: Size) -> Iterator[Figure]:
    """Four devices ± 3% apart that are known: each for 10 to 30 points, or one at random."""
    for place, stays in enumerate((True, False)):
        generator, alerts, delays = random_of(size, 30, place), 0, np.full(size.hard, NEVER)
        for attempt in range(size.hard):
            order = _order(generator, 250, stays)
            values = _of_devices(generator, order)
            quiet = reports(values, devices=order)
            alerts += sum(not report.verdict.is_return for report in quiet)
            at = int(generator.integers(60, 200))
            order = _order(generator, at + 40, stays)
            values = _of_devices(generator, order)
            values[at:] += 5 * generator.choice([-1.0, 1.0])
            seen_at = [report.seen_at for report in reports(values, devices=order)]
            delays[attempt] = min((seen - at + 1 for seen in seen_at if seen >= at), default=NEVER)
        name = f"known devices {'that stay' if stays else 'at random'}"
        yield rate(f"false alerts per 1,000, {name}", alerts, 250 * size.hard)
        yield median(f"5% step, {name}: median", delays)
        yield share(f"5% step, {name}: % within 40", int((delays < NEVER).sum()), size.hard)


def _order(generator: np.random.Generator, length: int, stays: bool) -> list[int]:
    if stays:
        return devices_of(generator, length)
    return [int(device) for device in generator.integers(0, 4, length)]


def _of_devices(generator: np.random.Generator, order: list[int]) -> Floats:
    noise = gaussian(generator, (1, len(order)))[0] / 2
    return np.asarray(LEVEL + np.array(DEVICE_LEVELS)[order] + noise)


def limited_power(size: Size) -> Iterator[Figure]:
    """A step of 5% after 100 to 200 points of noise in which changes are withheld, or late."""
    for place, kind in enumerate(("AR(1) 0.8", "bursts of 2 to 5", "10% outliers")):
        generator, delays = random_of(size, 31, place), np.full(size.hard, NEVER)
        for attempt in range(size.hard):
            at = int(generator.integers(100, 200))
            values = LEVEL + HARD[kind](generator, (1, at + 40))[0]
            values[at:] += 5 * generator.choice([-1.0, 1.0])
            delays[attempt] = delay(values, at)
        yield share(f"5% step, {kind}: % within 40", int((delays < NEVER).sum()), size.hard)
        yield median(f"5% step, {kind}: median", delays)


def small_step(size: Size) -> Iterator[Figure]:
    """A quarter of the threshold in a noise of 1%, after 60 points, for 100 points; and none."""
    for step in (0.5, 0.0):
        generator, reported = random_of(size, 26), 0
        for _ in range(size.hard):
            values = LEVEL + gaussian(generator, (1, 160))[0] / 2
            values[60:] += step
            reported += any(report.seen_at >= 60 for report in reports(values))
        name = f"step of {step:g}% in 1% noise: % reported"
        yield share(name, reported, size.hard, more_is_better=False)


def interval(size: Size) -> Iterator[Figure]:
    """Intervals of a step of 10% in two modes, after 48 points."""
    generator, covered, reported = random_of(size, 27), 0, 0
    for _ in range(size.hard):
        values = LEVEL + two_modes(generator, (1, 88))[0]
        values[48:] += 10
        for report in reports(values):
            if report.seen_at >= 48:
                reported += 1
                covered += report.verdict.effect_low <= 10 <= report.verdict.effect_high
                break
    yield share("two modes, 10% step: % of intervals that hold it", covered, reported)


def hard_cases(size: Size) -> Iterator[Figure]:
    """The figures of every hard case."""
    for kind in ("AR(1) 0.5", "gaussian"):
        for borrows in (False, True):
            yield from short_history(size, kind, borrows)
    yield from drift_from_the_start(size)
    for first in (5.0, 10.0, 20.0):
        yield from early_step(size, first)
    yield from short_level(size)
    yield from wider_spread(size)
    yield from small_step(size)
    yield from interval(size)
    yield from hard_noise(size)
    yield from devices_in_turn(size)
    yield from settled_bursts(size)
    yield from limited_power(size)
    yield from borrowing(size)
