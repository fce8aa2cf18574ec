"""What the cases of a family did together: where they stand, and how far they moved since when.
Pure.

A move is read from what each case did against its own value before, so a case that fails or joins
shifts no mean.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date
from functools import cached_property

from dashboard.language.metrics import Metric
from dashboard.language.wording import Tone, ValueChange, change, quiet


@dataclass(frozen=True, slots=True)
class Day:
    """What one day with one build brought: as dashboard.models.DayLevel, summed over cases."""

    day: date
    build: int
    count: int
    linked: int
    moved: float


@dataclass(frozen=True)
class FamilyFigure:
    """One metric of one family and mode.

    level: mean over ``cases`` of ln(value), of `passed` of the value itself; None: no case has one.
        days: the month
    that ended with the newest datum of the place, oldest first. build: the newest of the place;
    None where the month saw no other build before it.
    """

    metric: Metric
    level: float | None
    cases: int
    days: Sequence[Day]
    build: int | None

    @property
    def is_share(self) -> bool:
        return self.metric.aggregate == "share"

    @property
    def value(self) -> float | None:
        """The geomean in the metric's unit; of `passed` the share that passed, 0 … 1."""
        return None if self.level is None else self._plain(self.level)

    @property
    def since_build(self) -> ValueChange | None:
        """What moved with the newest build; None where nothing was measured before it."""
        return self._change(day for day in self.days if day.build == self.build)

    @property
    def since_month(self) -> ValueChange | None:
        """What moved within the days; None where no case was measured twice."""
        return self._change(self.days)

    @cached_property
    def history(self) -> list[float]:
        """The value before the first day and after each day, oldest first; empty without two
        points.
        """
        if self.level is None or not any(day.linked for day in self.days):
            return []
        levels = [self.level]
        for number in reversed(range(len(self.days))):
            levels.append(self.level - self._moved(self.days[number:]))
        return [self._plain(level) for level in reversed(levels)]

    def _plain(self, level: float) -> float:
        return level if self.is_share else math.exp(level)

    def _moved(self, days: Sequence[Day]) -> float:
        """The mean move over the cases that were there before ``days`` and are there now."""
        new = sum(day.count - day.linked for day in days)
        return math.fsum(day.moved for day in days) / max(self.cases - new, 1)

    def _change(self, days: Iterable[Day]) -> ValueChange | None:
        found = list(days)
        if self.value is None or self.level is None or not any(day.linked for day in found):
            return None
        before = self._plain(self.level - self._moved(found))
        if self.is_share:
            return _points(100 * (self.value - before))
        return quiet(change(self.metric, before, self.value), self.metric)


def _points(points: float) -> ValueChange:
    """A change of a share, in percentage points; without a tone where it is less than one."""
    if abs(points) < 0.05:
        return ValueChange("unchanged", "none", None)
    tone: Tone = "none" if abs(points) < 1 else "good" if points > 0 else "bad"
    return ValueChange(
        f"{abs(points):.1f} points {'higher' if points > 0 else 'lower'}", tone, None
    )


def newest_build(days: Iterable[Day]) -> int | None:
    """The build that came last; None where there is no other one."""
    first: dict[int, date] = {}
    for day in days:
        first[day.build] = min(day.day, first.get(day.build, day.day))
    return max(first, key=lambda build: (first[build], build)) if len(first) > 1 else None


def span(values: Sequence[float], metric: Metric) -> tuple[float, float]:
    """The ends of the axis on which ``values`` are drawn small: at least twice the metric's
    threshold apart, so that noise looks flat; of a share ten points.
    """
    middle, apart = (min(values) + max(values)) / 2, max(values) - min(values)
    least = 0.1 if metric.aggregate == "share" else 2 * metric.threshold_percent / 100 * abs(middle)
    half = max(apart, least) / 2 or 1.0
    return middle - half, middle + half
