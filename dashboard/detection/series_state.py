"""All that is known of a series after some points, and what more points make of it: `judge`."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dashboard.detection.abstention import Limit, limit_of
from dashboard.detection.advance import advance, passed
from dashboard.detection.constant_level import NO_LEVEL, ConstantLevel
from dashboard.detection.devices import NO_DEVICES, Devices
from dashboard.detection.fitting import refitted
from dashboard.detection.level_change import constant_change
from dashboard.detection.points import Point, Settings, Verdict
from dashboard.detection.segment import NO_POINTS, Learning, Segment, Watching, begin_next
from dashboard.detection.usual_noise import UsualNoise


class Report(NamedTuple):
    """A change, and the index of the point that showed it."""

    seen_at: int
    verdict: Verdict


def judge(points: Sequence[Point], state: "SeriesState") -> tuple["SeriesState", list[Report]]:
    """The state after more points of a series, and the changes that they show, oldest first.

    A change comes once; the next point is judged by the new level. Raises ValueError for a negative
    count.
    """
    reports = []
    at = 0
    while at < len(points):
        state, quiet = state.passed(points[at:])
        if quiet:
            at += quiet
            continue
        state, verdict = state.after(points[at])
        at += 1
        if verdict is not None:
            reports.append(Report(state.seen - 1, verdict))
    return state, reports


@dataclass(frozen=True, slots=True)
class SeriesState:
    """State of a series: all that is known of it. A value: `after` returns the next one.

    seen: points so far. constant: the value that the series holds, if it holds one.
    segment: the points of the present level, for the case that it does not.
    usual: the noise of other series of the kind, which a young one borrows.
    devices: that have measured it, and how far apart they are.
    """

    settings: Settings
    usual: UsualNoise | None = None
    seen: int = 0
    constant: ConstantLevel = NO_LEVEL
    segment: Segment = NO_POINTS
    devices: Devices = NO_DEVICES

    @property
    def limit(self) -> Limit | None:
        """Reason why changes of its level are not reported, or reported late; None without one."""
        if not isinstance(self.segment, Watching) or self.constant.is_quiet:
            return None
        fit = self.segment.fit
        return limit_of(fit.model, fit.tests.fewest, fit.scale.unit == "percent")

    def after(self, point: Point) -> tuple["SeriesState", Verdict | None]:
        """The state after one more point, and the change that it shows.

        1. A status word needs no statistics: another word is a change.
        2. Where the series holds one value, another value is a change.
        3. Where it varies, its noise says what is a change (`segment.advance`).
        """
        if self.settings.kind == "status":
            return self._after_status(point.value)
        devices, point = self._of_first_device(point, self.devices, self.segment.level)
        return replace(self, devices=devices)._after_value(point)

    def passed(self, points: Sequence[Point]) -> tuple["SeriesState", int]:
        """The state after those of the points that show no change, and how many these are: as
        `after` has it point by point, at a fifth of the cost.
        """
        segment = self.segment
        if isinstance(segment, Learning) or segment.left is not None or self.constant.is_held:
            return self, 0
        if segment.is_fit_due(self.seen):
            segment, change = refitted(segment, self.seen, self.settings, self.usual)
            if change is not None or isinstance(segment, Learning):
                return self, 0
        level, later_level = self.segment.level, segment.level
        constants, devices = [self.constant], [self.devices]
        judged = []
        for point in points[: segment.history.start + segment.next_fit - self.seen]:
            known, of_first = self._of_first_device(point, devices[-1], level)
            level = later_level
            constant = constants[-1].after(of_first.value, self.settings)
            if constant.is_held:
                break
            constants.append(constant)
            devices.append(known)
            judged.append(of_first)
        segment, count = passed(segment, judged)
        if not count:
            return self, 0
        seen, constant, known = self.seen + count, constants[count], devices[count]
        return SeriesState(self.settings, self.usual, seen, constant, segment, known), count

    def _of_first_device(
        self, point: Point, devices: Devices, level: float
    ) -> tuple[Devices, Point]:
        if self.settings.kind == "continuous" and point.device:
            return devices.after(point, level)
        return devices, point

    def _after_value(self, point: Point) -> tuple["SeriesState", Verdict | None]:
        constant = self.constant.after(point.value, self.settings)
        if constant.is_left(point.value, self.settings):
            jump = constant_change(
                self.seen, constant.run_off, constant.value, point.value, self.settings
            )
            left = self.segment.plus(point)
            state = self._next(
                constant.moved_to(point.value, self.settings),
                begin_next(left, jump, end=self.seen + 1),
            )
            return state, jump.verdict()
        if constant.is_quiet:
            # No noise to judge by; what there was of evidence for a step is void
            return self._next(constant, self.segment.plus(point)), None

        segment, change = advance(self.segment, self.seen, point, self.settings, self.usual)
        state = self._next(constant, segment)
        if change is None or change.is_withheld:
            return state, None
        return state, change.verdict()

    def _after_status(self, value: float) -> tuple["SeriesState", Verdict | None]:
        # Held from its first point on
        word = ConstantLevel(value, points_at=1, proven=True)
        state = self._next(word, self.segment)
        if self.seen == 0 or value == self.constant.value:
            return state, None
        change = constant_change(self.seen, 1, self.constant.value, value, self.settings)
        return state, change.verdict()

    def _next(self, constant: ConstantLevel, segment: Segment) -> "SeriesState":
        return replace(self, seen=self.seen + 1, constant=constant, segment=segment)
