"""Summary of what a family's cases did together: where they stand, and how far they moved. Pure.

A move compares each case with its own earlier value, so that a case that fails or joins does not
shift the mean.
"""

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property
from itertools import pairwise

from dashboard.language.metrics import Metric
from dashboard.language.wording import Tone, ValueChange, change, quiet


@dataclass(frozen=True, slots=True)
class Day:
    """One day with one build: the fields of dashboard.models.DayLevel, summed over cases."""

    day: date
    build: int
    count: int
    linked: int
    moved: float


@dataclass(frozen=True, slots=True)
class Standing:
    """Standing of the cases whose newest build is this one. age: how many builds are newer.

    level: mean over ``cases`` of ln(value), for `passed` of the value.
    """

    age: int
    build: str
    cases: int
    level: float


@dataclass(frozen=True)
class FamilyFigure:
    """One metric of one family and mode.

    standing: of each build that is the newest one of some cases.
    days: the month that ended with the newest datum of the place, oldest first.
    build: the newest of the place; None where the month had no other build.
    """

    metric: Metric
    standing: Sequence[Standing]
    days: Sequence[Day]
    build: int | None

    @property
    def is_share(self) -> bool:
        return self.metric.aggregate == "share"

    @property
    def cases(self) -> int:
        """All that have a value."""
        return sum(each.cases for each in self.standing)

    @cached_property
    def of_build(self) -> Standing:
        """Standing of the value: that of the newest build that measured any of the cases."""
        return min(self.standing, key=lambda each: each.age)

    @cached_property
    def level(self) -> float:
        """Level of one build; a share is of every case on its newest build."""
        if self.is_share:
            return math.fsum(each.level * each.cases for each in self.standing) / self.cases
        return self.of_build.level

    @property
    def value(self) -> float:
        """The geomean in the metric's unit; for `passed` the share that passed, 0 … 1."""
        return self._plain(self.level)

    @property
    def since_build(self) -> ValueChange | None:
        """Move that came with the newest build; None where nothing was measured before it."""
        return self._change([day for day in self.days if day.build == self.build])

    @property
    def since_month(self) -> ValueChange | None:
        """Move within the days; None where no case was measured twice."""
        return self._change(self.days)

    @cached_property
    def history(self) -> list[float]:
        """The value before the first day and after each one; empty without two points."""
        if not _has_comparison(self.days):
            return []
        levels = [self.level]
        for number in reversed(range(len(self.days))):
            levels.append(self.level - self._moved(self.days[number:]))
        return [self._plain(level) for level in reversed(levels)]

    def _plain(self, level: float) -> float:
        return level if self.is_share else math.exp(level)

    def _moved(self, days: Sequence[Day]) -> float:
        """The mean move over the cases that were there before ``days``, or twice within them, and
        are there now.

        How many cases came twice is not counted: as many as data had one before, at most. So where
        old cases were measured often and new ones once, a move looks smaller than it is.
        """
        new = sum(day.count - day.linked for day in days)
        linked = sum(day.linked for day in days)
        cases = max(self.cases - new, min(linked, self.cases), 1)
        return math.fsum(day.moved for day in days) / cases

    def _change(self, days: Sequence[Day]) -> ValueChange | None:
        if not _has_comparison(days):
            return None
        before = self._plain(self.level - self._moved(days))
        if self.is_share:
            return _points(100 * (self.value - before))
        return quiet(change(self.metric, before, self.value), self.metric)  # no error is known


def _has_comparison(days: Iterable[Day]) -> bool:
    """Test whether any case was measured before as well."""
    return any(day.linked for day in days)


def _points(points: float) -> ValueChange:
    """A change of a share, in percentage points; without a tone where it is less than one."""
    if abs(points) < 0.05:
        return ValueChange("unchanged", "none", None)
    direction = "higher" if points > 0 else "lower"
    tone: Tone = "none"
    if abs(points) >= 1:
        tone = "good" if points > 0 else "bad"
    return ValueChange(f"{abs(points):.1f} points {direction}", tone, None)


def came_in_turn(days: Iterable[Day]) -> bool:
    """Test whether a build was measured again after a newer one, or all came on one day: what
    differs from one datum to the next is then a difference between builds, not a change in time.
    """
    ranges: dict[int, list[date]] = defaultdict(list)
    for day in days:
        ranges[day.build].append(day.day)
    builds = sorted((min(dates), max(dates)) for dates in ranges.values())
    if len(builds) < 2:
        return False
    came_again = any(last > following for (_, last), (following, _) in pairwise(builds))
    return came_again or builds[0][0] == builds[-1][0]


def span(values: Sequence[float], metric: Metric) -> tuple[float, float]:
    """The ends of the axis of a small drawing of ``values``.

    They are at least twice the metric's threshold apart, so that noise looks flat; ten points for a
    share.
    """
    middle = (min(values) + max(values)) / 2
    threshold = metric.threshold_percent / 100 * abs(middle)
    least = 0.1 if metric.aggregate == "share" else 2 * threshold
    half = max(max(values) - min(values), least) / 2 or 1.0
    return middle - half, middle + half
