"""The rules by which two other tools report regressions, in a few lines of our own.

asv (`asv publish` with its default settings): the whole series is fitted with steps again after
each commit; a step up to a level from which the series has not come back is a regression. The
penalty of a step is chosen by an information criterion that allows for correlated noise. Two
things are simpler here: steps are fitted exactly, over a grid of penalties, where asv searches
approximately; and the points are not weighted with their measured spread.

github-action-benchmark (default settings): a value of more than 200% of the previous one.
"""

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tests.lab.level_costs import costs_of_stretches

Floats = NDArray[np.float64]
ASV_THRESHOLD = 0.05  # of a regression, relative to the level before
ASV_SHORT = 2  # points of a level that may be a fluke
ASV_FEWEST = 4  # points before anything is fitted
ASV_SAME = 3  # points by which a step's place may move and still be the same one
PENALTIES = 12
CORRELATIONS = np.linspace(-0.95, 0.95, 20)
PREVIOUS_RATIO = 2.0


@dataclass(frozen=True, slots=True)
class Alarm:
    """What a rule reports, by index: the point at which it does, and the new level's first one."""

    seen: int
    first: int


def previous_value(values: Floats) -> list[Alarm]:
    """github-action-benchmark: the value and the one before it. Of times, lower is better."""
    risen = np.flatnonzero(values[1:] > PREVIOUS_RATIO * values[:-1]) + 1
    return [Alarm(int(place), int(place)) for place in risen]


@dataclass(frozen=True, slots=True)
class _Level:
    """A fitted level: values[first:end]. error: their mean distance from it."""

    first: int
    end: int
    value: float
    error: float


_Fitted = dict[tuple[int, int], _Level]  # by where a level begins and ends


def step_fit(values: Floats) -> list[Alarm]:
    """asv: after each point the regressions of the fit, each reported when it first appears."""
    fits = _fits(values)
    fitted: _Fitted = {}
    alarms: list[Alarm] = []
    for end in range(ASV_FEWEST, len(values) + 1):
        levels = _best_levels(values[:end], [bounds[:end] for bounds in fits], fitted)
        for first in _regressions(levels):
            if all(abs(first - alarm.first) > ASV_SAME for alarm in alarms):
                alarms.append(Alarm(end - 1, first))
    return alarms


def _fits(values: Floats) -> list[NDArray[np.intp]]:
    """For each penalty of a step: where the last level of the best fit of values[:n + 1] begins.

    One recursion (Bellman 1957) has the best fit of every beginning of the series: the least of
    (best fit up to l) + penalty + cost(l to n), over l.
    """
    count = len(values)
    costs = costs_of_stretches(values)
    scale = costs[0, count] or 1.0
    fits = []
    for penalty in scale * np.geomspace(0.1 / count, 1.0, PENALTIES):
        best = np.zeros(count + 1)
        last = np.zeros(count, dtype=np.intp)
        for end in range(1, count + 1):
            totals = best[:end] + penalty + costs[:end, end]
            last[end - 1] = int(np.argmin(totals))
            best[end] = totals[last[end - 1]]
        fits.append(last)
    return fits


def _best_levels(values: Floats, fits: list[NDArray[np.intp]], fitted: _Fitted) -> list[_Level]:
    """The fit with the least 4 ln(n) / n × levels + ln(noise + left), over the penalties.

    left: sum of |e(i) - r e(i - 1)| over the distances e from the fit, at the best correlation r.
    noise: what a measurement cannot tell apart, a tenth of the smallest step.
    """
    count = len(values)
    chosen: list[_Level] = []
    least = np.inf
    for last in fits:
        levels = _levels(values, last, fitted)
        lengths = [level.end - level.first for level in levels]
        left = values - np.repeat([level.value for level in levels], lengths)
        sums = np.abs(left[1:] - CORRELATIONS[:, None] * left[:-1]).sum(axis=1)
        objective = 4 * np.log(count) / count * len(levels)
        objective += np.log(_floor(levels) + abs(left[0]) + sums.min())
        if objective < least:
            chosen, least = levels, objective
    return chosen


def _levels(values: Floats, last: NDArray[np.intp], fitted: _Fitted) -> list[_Level]:
    levels = []
    end = len(values)
    while end > 0:
        first = int(last[end - 1])
        if (first, end) not in fitted:
            part = values[first:end]
            middle = float(np.median(part))
            error = float(np.abs(part - middle).mean())
            fitted[first, end] = _Level(first, end, middle, error)
        levels.append(fitted[first, end])
        end = first
    return levels[::-1]


def _floor(levels: list[_Level]) -> float:
    middles = np.array([level.value for level in levels])
    if len(levels) > 2:
        return max(1e-300, 0.1 * float(np.abs(np.diff(middles)).min()))
    return max(1e-300, 0.001 * float(np.abs(middles).min()))


def _regressions(levels: list[_Level]) -> list[int]:
    """The first point after each step up that later levels have not undone, newest first."""
    firsts: list[int] = []
    lowest = levels[-1]  # of the levels from there on
    next_first = levels[-1].first
    before_short: _Level | None = None
    for level in levels[-2::-1]:
        margin = max(level.error, lowest.error, ASV_THRESHOLD * level.value)
        if lowest.value > level.value + margin:
            if level.end - level.first < ASV_SHORT:
                before_short = lowest
            firsts.append(next_first)
            lowest = level
        elif before_short is not None:
            if before_short.value <= level.value + margin:
                firsts.pop()  # a fluke: the level before it is the level after it
                lowest = before_short
            before_short = None
        next_first = level.first
    return firsts
