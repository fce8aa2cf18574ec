"""Changes the detector reports of a whole history under some settings, next to others. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby

from dashboard.detection import Settings
from dashboard.results.core.series_points import (
    SNAP,
    SeriesPoint,
    judge_history,
    judged_value,
    newest_segment,
    unjudged,
)


@dataclass(frozen=True, slots=True)
class ReportedChange:
    """A change that the detector reports.

    at: of the first point of the new level. position: of that point in the history.
    seen_at: of the point at which it was sure.
    effect: in unit, percent or difference.
    """

    at: datetime
    position: int
    seen_at: datetime
    effect: float
    unit: str


@dataclass(frozen=True, slots=True)
class Differences:
    """Changes under two settings, paired: those that lie at most SNAP points apart.

    both: as the first settings report them.
    """

    both: list[ReportedChange]
    only_first: list[ReportedChange]
    only_second: list[ReportedChange]


def changes_of(
    history: Sequence[SeriesPoint], metric: str, per_build: bool, settings: Settings
) -> list[ReportedChange]:
    """Every change that the detector reports of a history, from its first datum on."""
    judged = [reading for reading in history if judged_value(reading, settings) is not None]
    changes: list[ReportedChange] = []
    points_before = 0
    for _, same_version in groupby(judged, key=lambda reading: reading.version):
        readings = list(same_version)
        points = newest_segment(readings, settings, per_build)
        _, detections = judge_history(readings, unjudged(metric, per_build, settings=settings))
        for detection in detections:
            verdict = detection.verdict
            if verdict.state == "changed":
                at, position = points[verdict.index][0].at, points_before + verdict.index
                seen_at = detection.reading.at
                changes.append(ReportedChange(at, position, seen_at, verdict.effect, verdict.unit))
        points_before += len(points)
    return changes


def differences(first: Sequence[ReportedChange], second: Sequence[ReportedChange]) -> Differences:
    """Pair the changes that both have: each once, with the nearest that is left."""
    left = list(second)
    both, only_first = [], []
    for change in first:
        near = [other for other in left if abs(other.position - change.position) <= SNAP]
        same = [other for other in near if (other.effect > 0) == (change.effect > 0)]
        if not same:
            only_first.append(change)
            continue
        left.remove(min(same, key=lambda other: abs(other.position - change.position)))
        both.append(change)
    return Differences(both, only_first, left)
