"""Where a series changed level, and whether two sets of points differ. Pure: points in, verdicts
out.

Start with `points.py` for the words, then `bank.py` for the method; docs/detection.md has the
figures.
"""

from dashboard.detection.judging import Judgement, judge
from dashboard.detection.online import VERSION, OnlineDetector
from dashboard.detection.points import ChangePoint, Point, Settings, Verdict, status_value
from dashboard.detection.power import smallest_change_shown
from dashboard.detection.whole import find_change_points

__all__ = [
    "VERSION",
    "ChangePoint",
    "Judgement",
    "OnlineDetector",
    "Point",
    "Settings",
    "Verdict",
    "find_change_points",
    "judge",
    "smallest_change_shown",
    "status_value",
]
