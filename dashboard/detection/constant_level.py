"""The test for series that hold one value exactly: memory, counts, status words.

No statistics: one point with another value is enough.
"""

from dataclasses import dataclass

from dashboard.detection.points import Settings

POINTS_TO_HOLD = 5
"""Points at a value before the series is taken to hold it."""
POINTS_AT_FOR_EACH_OFF = 9
"""A value is held while at least so many points are at it for each one that is not."""
POINTS_IF_RESTLESS = 3
"""Points in a row that a change needs once the series has shown a single odd point: two outliers in
a row are noise (as `cusum.FEWEST_POINTS`).
"""
POINTS_IF_CONTINUOUS = 20
"""Points at a value from which a single other one is a change in a series that could vary: fewer
may be equal by chance, where values are rounded coarsely.
"""
JITTER_OF_THRESHOLD = 8
"""Two values of memory are the same if they differ by less than the threshold over this."""
ROUNDING = 1e-9
"""Two values of any other metric are the same if they differ by less than this share of them."""


@dataclass(frozen=True, slots=True)
class ConstantLevel:
    """The value that a series holds, found by majority vote.

    value: the candidate. points_at, points_off: points at it, and not at it. run_off: how many of
        the last points were not at it.
    proven: the value was reported as a new level, so it needs no POINTS_TO_HOLD.
    restless: a level of fewer than POINTS_IF_RESTLESS points was reported before.
    varied: it could vary, and did: a few equal points are then chance.
    """

    value: float = 0.0
    points_at: int = 0
    points_off: int = 0
    run_off: int = 0
    proven: bool = False
    restless: bool = False
    varied: bool = False

    def after(self, value: float, settings: Settings) -> "ConstantLevel":
        """The level after one more point."""
        jitter = ROUNDING
        if settings.kind == "constant":
            jitter = settings.threshold_percent / (100 * JITTER_OF_THRESHOLD)
        if abs(value - self.value) <= jitter * abs(self.value):
            return self._with_counts(self.points_at + 1, self.points_off, 0)
        counted = self._with_counts(self.points_at, self.points_off + 1, self.run_off + 1)
        if counted.is_held and counted.matters(value, settings):
            return counted
        if counted.points_off > counted.points_at:
            had_another = settings.kind == "continuous" and self.points_at > 0
            return ConstantLevel(
                value, points_at=1, restless=self.restless, varied=self.varied or had_another
            )
        return counted

    def moved_to(self, value: float, settings: Settings) -> "ConstantLevel":
        """The level after its change to this value has been reported."""
        was_short = self.proven and self.points_at < POINTS_IF_RESTLESS
        was_short = was_short or self._is_doubtful(settings)
        return ConstantLevel(
            value,
            points_at=max(1, self.run_off),
            proven=True,
            restless=self.restless or was_short,
        )

    @property
    def is_held(self) -> bool:
        """True where the series has held the value for long enough to judge by it.

        The points of the present run count neither way: they may be the change.
        """
        needed = POINTS_IF_CONTINUOUS if self.varied else POINTS_TO_HOLD
        old_enough = self.proven or self.points_at >= needed
        earlier_off = self.points_off - self.run_off
        return old_enough and self.points_at >= POINTS_AT_FOR_EACH_OFF * earlier_off

    @property
    def is_quiet(self) -> bool:
        """True where the value is held and the last point was at it."""
        return self.run_off == 0 and self.is_held

    def is_left(self, value: float, settings: Settings) -> bool:
        """Test whether the last point, which had this value, shows that the level was left."""
        earlier_off = self.points_off > self.run_off
        doubtful = self.restless or earlier_off or self._is_doubtful(settings)
        needed = POINTS_IF_RESTLESS if doubtful else 1
        return self.run_off >= needed and self.is_held and self.matters(value, settings)

    def _is_doubtful(self, settings: Settings) -> bool:
        """Test whether its few points may be equal by chance."""
        could_vary = settings.kind == "continuous" and not self.proven
        return could_vary and self.points_at < POINTS_IF_CONTINUOUS

    def matters(self, value: float, settings: Settings) -> bool:
        """Test whether the difference is worth reporting."""
        if settings.kind == "count" or self.value == 0:
            return True
        threshold = settings.threshold_percent / 100 * abs(self.value)
        return abs(value - self.value) >= max(settings.least, threshold)

    def _with_counts(self, points_at: int, points_off: int, run_off: int) -> "ConstantLevel":
        # Positions, not names: `replace` would take half of the time of a quiet point
        counts = (points_at, points_off, run_off)
        return ConstantLevel(self.value, *counts, self.proven, self.restless, self.varied)


NO_LEVEL = ConstantLevel()
"""Of a series without points."""
