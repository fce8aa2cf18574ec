"""The test for series that hold one value: memory, counts, anything exactly constant. One point is
enough.
"""

from dataclasses import dataclass

from dashboard.detection.points import Settings

FEWEST = 5
"""Points at the value before it counts as held."""
PURE = 9
"""A value is held while at least so many points are at it for each that is not."""
AGAIN = 3
"""Points in a row that a change needs once the series has shown a single odd point."""


@dataclass(slots=True)
class Held:
    """The value that a series holds, found by majority vote.

    value: it. at: points at it. odd: points that were not. run: how many of the last points were
        not. proven: it was
    told as a new level, and needs no time to settle. jumpy: levels of fewer than AGAIN points were
    told before.
    """

    value: float = 0.0
    at: int = 0
    odd: int = 0
    run: int = 0
    proven: bool = False
    jumpy: bool = False

    def holds(self) -> bool:
        """Whether the series has held the value for long enough to judge by it."""
        return (self.proven or self.at >= FEWEST) and self.at >= PURE * (self.odd - self.run)

    def quiet(self) -> bool:
        """Whether the value is held and the last point was at it."""
        return self.run == 0 and self.holds()

    def differs(self, value: float, settings: Settings) -> bool:
        """Whether this is another value: by any bit, or for memory by an eighth of the
        threshold.
        """
        jitter = settings.threshold_percent / 800 if settings.kind == "constant" else 1e-9
        return abs(value - self.value) > jitter * abs(self.value)

    def matters(self, value: float, settings: Settings) -> bool:
        """Whether the difference is worth telling."""
        if settings.kind == "count" or self.value == 0:
            return True
        return abs(value - self.value) >= max(
            settings.least, settings.threshold_percent / 100 * abs(self.value)
        )

    def needed(self) -> int:
        """Points in a row that must differ before it is a change."""
        return AGAIN if self.jumpy or self.odd > self.run else 1

    def changed(self, value: float, settings: Settings) -> bool:
        """Take one more value; True if it shows that the series has left the value that it held."""
        if not self.differs(value, settings):
            self.at, self.run = self.at + 1, 0
            return False
        self.odd, self.run = self.odd + 1, self.run + 1
        if self.holds() and self.matters(value, settings):
            return self.run >= self.needed()
        if self.odd > self.at:
            self.hold(value, proven=False)
        return False

    def restart(self, value: float) -> None:
        """Hold the new value that was told, from now on."""
        self.jumpy = self.jumpy or (self.proven and self.at < AGAIN)
        self.hold(value, proven=True)

    def hold(self, value: float, proven: bool) -> None:
        """Begin anew with this value."""
        self.value, self.at, self.odd, self.run, self.proven = (
            value,
            max(1, self.run if proven else 1),
            0,
            0,
            proven,
        )
