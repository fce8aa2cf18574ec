"""Pauses before what ended is started again: longer each time, until it ran well for a while."""

import time
from pathlib import Path

FIRST_DELAY_S, MAX_DELAY_S = 1.0, 30.0  # doubled each time
HEALTHY_S = 60.0  # what ran for this long is taken to have started well


class Restarts:
    """Restarts of a program or server: call `begin` before each start, `plan` when it has ended."""

    def __init__(self) -> None:
        self._began = 0.0
        self._delay = FIRST_DELAY_S
        self._at: float | None = None

    def begin(self) -> None:
        """It is started now: no restart is planned."""
        self._began, self._at = time.monotonic(), None

    def plan(self, log: Path) -> str:
        """Plan the next start; what will happen, in words."""
        now = time.monotonic()
        if now - self._began > HEALTHY_S:
            self._delay = FIRST_DELAY_S
        self._at = now + self._delay
        words = f"starting it again in {self._delay:.0f} s (log: {log})"
        self._delay = min(self._delay * 2, MAX_DELAY_S)
        return words

    @property
    def is_planned(self) -> bool:
        """True where a start is planned."""
        return self._at is not None

    @property
    def is_due(self) -> bool:
        """True where a planned start is due now."""
        return self._at is not None and time.monotonic() >= self._at
