"""Times as people say them. Pure."""

import math


def duration(seconds: float | None) -> str:
    """Seconds as people say them: "0.4 s", "48 s", "3 min 20 s", "2 h 5 min", "3 days"."""
    if seconds is None or not math.isfinite(seconds):
        return "–"
    if seconds < 10:
        return f"{seconds:.1f} s"
    if seconds < 90:
        return f"{seconds:.0f} s"
    if seconds < 600 and round(seconds) % 60:
        return f"{int(seconds) // 60} min {round(seconds) % 60} s"
    return _long_duration(round(seconds / 60))


def _long_duration(minutes: int) -> str:
    if minutes < 60:
        return f"{minutes} min"
    if minutes >= 48 * 60:
        return f"{minutes // 1440} days"
    hours, rest = divmod(minutes, 60)
    return f"{hours} h {rest} min" if rest else f"{hours} h"
