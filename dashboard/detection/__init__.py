"""Detection of changes of level in a series, and of a difference between two sets of points.
Pure: points in, verdicts out.

Start with `points.py` for the words, then `series_state.py` for what one point does, `segment.py`
and `cusum.py` for the method; docs/detection.md has the figures.
"""

from dashboard.detection.abstention import Limit
from dashboard.detection.level_comparison import LevelComparison, compare_levels
from dashboard.detection.points import Point, Settings, Verdict, status_value
from dashboard.detection.power import smallest_change_shown
from dashboard.detection.series_state import Report, SeriesState, judge
from dashboard.detection.stored_state import VERSION, from_json, to_json
from dashboard.detection.usual_noise import SeriesNoise, UsualNoise, usual_noise

__all__ = [
    "VERSION",
    "LevelComparison",
    "Limit",
    "Point",
    "Report",
    "SeriesNoise",
    "SeriesState",
    "Settings",
    "UsualNoise",
    "Verdict",
    "compare_levels",
    "from_json",
    "judge",
    "smallest_change_shown",
    "status_value",
    "to_json",
    "usual_noise",
]
