"""Meaning of a change that the detector saw, for its series. Pure."""

from collections.abc import Iterable, Sequence
from typing import Any

from dashboard.results.core.series_points import (
    Detection,
    JudgedSeries,
    SeriesPoint,
    newest_segment,
)

NOISIER_FOR = 192
"""Points for which it is news that a series became noisier."""


def noisier_since(
    noisier: dict[str, Any] | None,
    judged: JudgedSeries,
    readings: Sequence[SeriesPoint],
    detections: Iterable[Detection],
) -> dict[str, Any] | None:
    """Find when the series became noisier and by how many percent, as JSON; None where its level
    has changed since, or where that is long ago.

    noisier: as it was before the detections.
    """
    for detection in detections:
        noisier = None
        if detection.verdict.state == "noisier":
            points, index = points_until(judged, readings, detection)
            noisier = {
                "at": points[index][0].at.isoformat(),
                "percent": detection.verdict.effect,
                "seen": detection.seen,
            }
    if noisier is None or judged.now.seen - noisier["seen"] > NOISIER_FOR:
        return None
    return noisier


def points_until(
    judged: JudgedSeries, readings: Sequence[SeriesPoint], detection: Detection
) -> tuple[list[list[SeriesPoint]], int]:
    """The points seen with a detection, and the index of the first one that changed."""
    last = detection.reading.at, detection.reading.job
    count = len(readings)
    for place, reading in enumerate(readings):
        if (reading.at, reading.job) == last:
            count = place + 1
    points = newest_segment(readings[:count], judged.settings, judged.per_build)
    return points, max(len(points) - 1 - detection.behind, 1)
