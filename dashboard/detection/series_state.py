"""All that is known of a series after some points, and what one more point makes of it."""

from dataclasses import dataclass

from dashboard.detection.constant_level import NO_LEVEL, ConstantLevel
from dashboard.detection.level_change import LevelChange, constant_change
from dashboard.detection.points import UNCHANGED, Point, Settings, Verdict
from dashboard.detection.segment import (
    NO_POINTS,
    Segment,
    advance,
    begin_next,
    suspected_step,
)


@dataclass(frozen=True, slots=True)
class SeriesState:
    """What is known of a series. A value: `after` returns the next one.

    seen: points so far. constant: the value that the series holds, if it holds one.
    segment: the points of the present level, for the case that it does not.
    """

    settings: Settings
    seen: int = 0
    constant: ConstantLevel = NO_LEVEL
    segment: Segment = NO_POINTS

    def after(self, point: Point) -> tuple["SeriesState", Verdict]:
        """The state after one more point, and what is to be said of the point.

        Raises ValueError for a negative count.

        1. A status word needs no statistics: another word is a change.
        2. Where the series holds one value, another value is a change.
        3. Where it varies, its noise says what is a change (`segment.advance`).
        """
        if self.settings.kind == "status":
            return self._after_status(point.value)

        constant = self.constant.after(point.value, self.settings)
        if constant.is_left(point.value, self.settings):
            change = self._constant_change(constant, point.value, self.seen)
            left = self.segment.plus(point)
            state = self._next(
                constant.moved_to(point.value), begin_next(left, change, end=self.seen + 1)
            )
            return state, change.verdict("changed")
        if constant.is_quiet:
            # No noise to judge by; what there was of evidence for a step is void
            return self._next(constant, self.segment.plus(point)), UNCHANGED

        segment, step_or_drift = advance(self.segment, self.seen, point, self.settings)
        state = self._next(constant, segment)
        if step_or_drift is not None:
            return state, step_or_drift.verdict("changed")
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
        """What is to be said of the newest point, which had this value, when it proves nothing."""
        newest = self.seen - 1
        # The exact test comes first: it needs no estimate
        if self.constant.is_suspect(value, self.settings):
            return self._constant_change(self.constant, value, newest).verdict("suspected")
        step = suspected_step(self.segment, newest)
        return UNCHANGED if step is None else step.verdict("suspected")

    def _constant_change(self, constant: ConstantLevel, value: float, index: int) -> LevelChange:
        return constant_change(index, constant.run_off, constant.value, value, self.settings)

    def _next(self, constant: ConstantLevel, segment: Segment) -> "SeriesState":
        return SeriesState(self.settings, self.seen + 1, constant, segment)
