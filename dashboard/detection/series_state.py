"""All that is known of a series after some points, and what one more point makes of it."""

from dataclasses import dataclass, replace

from dashboard.detection.advance import advance, suspected_step
from dashboard.detection.constant_level import NO_LEVEL, ConstantLevel
from dashboard.detection.devices import NO_DEVICES, Devices
from dashboard.detection.level_change import LevelChange, constant_change
from dashboard.detection.points import UNCHANGED, Point, Settings, Verdict
from dashboard.detection.segment import NO_POINTS, Segment, begin_next
from dashboard.detection.usual_noise import UsualNoise


@dataclass(frozen=True, slots=True)
class SeriesState:
    """State of a series: all that is known of it. A value: `after` returns the next one.

    seen: points so far. constant: the value that the series holds, if it holds one.
    segment: the points of the present level, for the case that it does not.
    usual: the noise of other series of the kind, which a young one borrows.
    devices: that have measured it, and how far apart they are.
    """

    settings: Settings
    seen: int = 0
    constant: ConstantLevel = NO_LEVEL
    segment: Segment = NO_POINTS
    usual: UsualNoise | None = None
    devices: Devices = NO_DEVICES

    def after(self, point: Point) -> tuple["SeriesState", Verdict]:
        """The state after one more point, and what is to be said of the point.

        Raises ValueError for a negative count.

        1. A status word needs no statistics: another word is a change.
        2. Where the series holds one value, another value is a change.
        3. Where it varies, its noise says what is a change (`segment.advance`).
        """
        if self.settings.kind == "status":
            return self._after_status(point.value)
        if self.settings.kind == "continuous" and point.device:
            devices, point = self.devices.after(point, self.segment.level)
            return replace(self, devices=devices)._after_value(point)
        return self._after_value(point)

    def _after_value(self, point: Point) -> tuple["SeriesState", Verdict]:
        constant = self.constant.after(point.value, self.settings)
        if constant.is_left(point.value, self.settings):
            jump = self._constant_change(constant, point.value, self.seen)
            left = self.segment.plus(point)
            state = self._next(
                constant.moved_to(point.value, self.settings),
                begin_next(left, jump, end=self.seen + 1),
            )
            return state, jump.verdict("changed")
        if constant.is_quiet:
            # No noise to judge by; what there was of evidence for a step is void
            return self._next(constant, self.segment.plus(point)), UNCHANGED

        segment, change = advance(self.segment, self.seen, point, self.settings, self.usual)
        state = self._next(constant, segment)
        if change is not None and change.is_withheld:
            return state, UNCHANGED
        if change is not None:
            return state, change.verdict("noisier" if change.cause == "noise" else "changed")
        return state, state._suspicion(point.value)

    def _after_status(self, value: float) -> tuple["SeriesState", Verdict]:
        # Held from its first point on
        word = ConstantLevel(value, points_at=1, proven=True)
        state = self._next(word, self.segment)
        if self.seen == 0 or value == self.constant.value:
            return state, UNCHANGED
        change = constant_change(self.seen, 1, self.constant.value, value, self.settings)
        return state, change.verdict("changed")

    def _suspicion(self, value: float) -> Verdict:
        """Return the verdict on the newest point, which had this value, when it proves nothing."""
        newest = self.seen - 1
        # The exact test comes first: it needs no estimate
        if self.constant.is_suspect(value, self.settings):
            return self._constant_change(self.constant, value, newest).verdict("suspected")
        step = suspected_step(self.segment, newest)
        return UNCHANGED if step is None or step.is_withheld else step.verdict("suspected")

    def _constant_change(self, constant: ConstantLevel, value: float, index: int) -> LevelChange:
        return constant_change(index, constant.run_off, constant.value, value, self.settings)

    def _next(self, constant: ConstantLevel, segment: Segment) -> "SeriesState":
        return replace(self, seen=self.seen + 1, constant=constant, segment=segment)
