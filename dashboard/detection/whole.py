"""A whole series at once: the online detector's decisions, made for all points in a few array
operations.
"""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from dashboard.detection import bank, drift, shift
from dashboard.detection.law import WINDOW, Laws
from dashboard.detection.online import OnlineDetector, change_point
from dashboard.detection.points import ChangePoint, Point, Settings
from dashboard.detection.ruler import Ruler
from dashboard.detection.stretch import (
    FIRST,
    KEPT,
    Alarm,
    drift_alarm,
    fitted_on,
    laws_for,
    next_fit,
    step_alarm,
)
from dashboard.detection.tables import Floats, Ints

NEAR = 12
"""Points on either side among which a change's first point is looked for again."""


def find_change_points(points: Sequence[Point], settings: Settings) -> list[ChangePoint]:
    """Every change of level in a series, oldest first.

    What the online detector would have told, point by point; each change's first point and effect
    are then estimated again with all points up to the next change. Fewer than 21 points of a series
    that varies hold no change.
    """
    values = np.array([point.value for point in points], dtype=float)
    if settings.kind in ("continuous", "count") and not holds_a_value(values):
        alarms = find_alarms(values, spreads_of(points), settings)
    else:
        alarms = online_alarms(points, settings)
    return [change_point(alarm, points[alarm.index].position) for alarm in alarms]


def spreads_of(points: Sequence[Point]) -> Floats:
    """Standard error of each point within its job; 0 where unknown."""
    if all(point.ci_low is None for point in points):
        return np.zeros(len(points))
    return np.array([point.spread for point in points])


def holds_a_value(values: Floats) -> bool:
    """Whether any 5 points in a row are equal: then the one-point test has a say (see `held`)."""
    same = np.abs(np.diff(values)) <= 1e-9 * np.abs(values[1:])
    return bool((same[3:] & same[2:-1] & same[1:-2] & same[:-3]).any()) if len(values) > 4 else True


def online_alarms(points: Sequence[Point], settings: Settings) -> list[Alarm]:
    """The alarms of the online detector, one point at a time."""
    detector = OnlineDetector(settings)
    alarms = [detector.take(point) for point in points]
    return [alarm for alarm in alarms if alarm is not None]


def find_alarms(values: Floats, spreads: Floats, settings: Settings) -> list[Alarm]:
    """The alarms of a series that holds no value exactly, stretch after stretch."""
    alarms: list[Alarm] = []
    start, judged, ruler, law = 0, FIRST, None, None
    while len(values) - start > judged:
        if ruler is None:
            ruler = Ruler.at(values[:FIRST], settings)
        alarm = first_alarm(values[start:], spreads[start:], start, judged, ruler, law, settings)
        if alarm is None:
            break
        alarms.append(alarm)
        start, ruler, law = alarm.starts, alarm.after, alarm.law
        judged = alarm.seen_at - start + (alarm.cause == "step")
    edges = [0, *(alarm.index for alarm in alarms), len(values)]
    return [
        refined(alarm, values, *edges[place : place + 3 : 2]) for place, alarm in enumerate(alarms)
    ]


def refined(alarm: Alarm, values: Floats, begin: int, end: int) -> Alarm:
    """A step's effect and first point, with the points up to the next change that the online form
    had not seen.

    begin: where the level before it began; end: where the next one begins.

    The alarm stays as it was told where these points say that the level went back: its estimate
    would be of no change.
    """
    if alarm.cause == "drift" or alarm.law is None or end - alarm.index <= bank.FEWEST:
        return alarm
    first = max(alarm.index - NEAR, begin + 1)
    readings = alarm.ruler.read(values[first - 1 : min(end, alarm.index + shift.USED)])
    here = alarm.index - first + 1
    step, low, high = shift.estimate(readings[here:], float(readings[here - 1]), alarm.law)
    if low <= 0 <= high:
        return alarm
    index = first - 1 + shift.first_point(readings[: here + NEAR], alarm.law, step)
    level = float(alarm.law.level[0])
    effect, low, high = (alarm.ruler.effect(level, level + change) for change in (step, low, high))
    levels = alarm.ruler.value(level), alarm.ruler.value(level + step)
    return replace(alarm, index=index, effect=effect, low=low, high=high, levels=levels)


def first_alarm(
    values: Floats,
    spreads: Floats,
    start: int,
    judged: int,
    ruler: Ruler,
    law: Laws | None,
    settings: Settings,
) -> Alarm | None:
    """The first alarm of one stretch. values: from its first point on; judged: points before the
    first scored one.
    """
    threshold = ruler.threshold(settings)
    readings, widths = ruler.read(values), ruler.widths(spreads)
    moments = moments_of(judged, len(values))
    laws = laws_for(windows(readings, moments), law, ruler.floor(settings))
    row = np.repeat(np.arange(len(moments)), np.diff(np.append(moments, len(values))))
    if spreads.any():
        widths = beyond_usual(widths, windows(widths, moments), row, judged)
    fresh = bank.fresh_parts(
        readings[judged:], readings[judged - 1 : -1], widths[judged:], laws, row
    )
    scored = bank.scores(fresh, laws, row, threshold)
    line = lines(readings, laws, moments, row)
    drifted = first_drift(line, laws, moments, threshold)
    end = len(values) if drifted is None else int(moments[drifted])
    since = 0
    while (step := first_step(*scored, laws, row, since)) is not None and judged + step[0] < end:
        at, count, share = step
        seen, place = judged + at, int(row[at])
        recent = readings[max(0, seen - KEPT) : seen + 1]
        alarm = step_alarm(start + seen, recent, count, share, ruler, laws.row(place))
        if drift.worth_telling(
            alarm.effect, float(line[0][place]), float(line[1][place]), threshold
        ):
            return alarm
        since = at + 1
    if drifted is None:
        return None
    risen, error = float(line[0][drifted]), float(line[1][drifted])
    return drift_alarm(start + end, start, risen, error, threshold, ruler, laws.row(drifted))


def first_step(
    starts: Floats, goes_on: Floats, laws: Laws, row: Ints, since: int
) -> tuple[int, int, float] | None:
    """The first scored point from `since` on with enough evidence of a step; the run's length and
    its share.
    """
    sums, gain = bank.run(starts[:, since:], goes_on[:, since:])
    row = row[since:]
    if not (sums.max(axis=0, initial=0.0) >= bank.required(laws, settled=True)[row]).any():
        return None
    counts = bank.lengths(gain)
    shares = bank.surplus(sums, counts, laws, row)
    enough = shares.max(axis=0) >= 1
    if not enough.any():
        return None
    at = int(enough.argmax())
    best = int(shares[:, at].argmax())
    return since + at, int(counts[best, at]), float(shares[best, at])


def moments_of(judged: int, length: int) -> Ints:
    """The points of a stretch before which its law is estimated."""
    moments = [judged]
    while (following := next_fit(moments[-1])) < length:
        moments.append(following)
    return np.array(moments)


def windows(values: Floats, moments: Ints) -> Floats:
    """For each moment the last WINDOW of the points that its law comes from, (moments, WINDOW); NaN
    before them.
    """
    padded = np.concatenate([np.full(WINDOW, np.nan), values])
    ends = np.array([fitted_on(int(moment)) for moment in moments])
    return padded[ends[:, None] + np.arange(WINDOW)]


def beyond_usual(widths: Floats, seen: Floats, row: Ints, judged: int) -> Floats:
    """Standard errors in excess of the usual one of the law's points: those are in the law
    already.
    """
    usual = np.concatenate([np.zeros(judged), np.nanmedian(seen, axis=1)[row]])
    excess: Floats = np.sqrt(np.maximum(widths**2 - usual**2, 0.0))
    return excess


def lines(readings: Floats, laws: Laws, moments: Ints, row: Ints) -> tuple[Floats, Floats]:
    """Rise of a straight line through the stretch up to each moment, and its error (percent); 0
    before FIRST points.
    """
    settled = min(int((moments < FIRST).sum()), len(moments) - 1)
    rows = np.maximum(np.concatenate([np.zeros(len(readings) - len(row), dtype=int), row]), settled)
    near = drift.clipped(readings, laws.level[rows], laws.marginal[rows])
    totals, products = np.cumsum(near), np.cumsum(near * np.arange(len(near)))
    risen, error = drift.rise(
        moments.astype(float), totals[moments - 1], products[moments - 1], laws
    )
    return np.where(moments < FIRST, 0.0, risen), error


def first_drift(
    line: tuple[Floats, Floats], laws: Laws, moments: Ints, threshold: float
) -> int | None:
    """The first moment with a proven drift."""
    told = drift.told(moments.astype(float), *line, threshold)
    return int(told.argmax()) if told.any() else None
