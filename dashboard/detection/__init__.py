"""Where a series changed level, and whether two sets of points differ. Pure: points in, verdicts out.

Start with `points.py` for the words, then `bank.py` for the method; docs/detection.md has the figures.
"""

from dashboard.detection.online import VERSION, OnlineDetector
from dashboard.detection.points import (
    STATUS_WORDS,
    ChangePoint,
    Point,
    Settings,
    Verdict,
    status_value,
)  # fmt: skip
from dashboard.detection.whole import find_change_points

__all__ = [
    "STATUS_WORDS", "VERSION", "ChangePoint", "OnlineDetector", "Point", "Settings", "Verdict",
    "find_change_points", "status_value",
]  # fmt: skip
