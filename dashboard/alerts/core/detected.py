"""Reports of the detector while it takes a series' new data. Pure."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from dashboard.detection import Verdict
from dashboard.results.core.series_points import SeriesDetector, SeriesPoint, newest_segment

REPORTED = ("changed", "noisier")
NOISIER_FOR = 192
"""Points for which it is news that a series became noisier."""


@dataclass(slots=True)
class Detection:
    """A verdict "changed" or "noisier" and the datum with which it came.

    seen: points until then. behind: points from the first one of the new level to the last one.
    """

    reading: SeriesPoint
    verdict: Verdict
    seen: int
    behind: int


def detections_of(detector: SeriesDetector, fresh: Iterable[SeriesPoint]) -> list[Detection]:
    """List what the detector reports as it takes these data."""
    detections = []
    for reading in fresh:
        verdict = detector.take(reading)
        if verdict is None or verdict.index is None or verdict.state not in REPORTED:
            continue
        seen = detector.now.seen
        detections.append(Detection(reading, verdict, seen, seen - 1 - verdict.index))
    return detections


def noisier_since(
    noisier: dict[str, Any] | None,
    detector: SeriesDetector,
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
            points, index = points_until(detector, readings, detection)
            noisier = {
                "at": points[index][0].at.isoformat(),
                "percent": detection.verdict.effect,
                "seen": detection.seen,
            }
    if noisier is None or detector.now.seen - noisier["seen"] > NOISIER_FOR:
        return None
    return noisier


def points_until(
    detector: SeriesDetector, readings: Sequence[SeriesPoint], detection: Detection
) -> tuple[list[list[SeriesPoint]], int]:
    """The points seen with a detection, and the index of the first one that changed."""
    last = detection.reading.at, detection.reading.job
    count = len(readings)
    for place, reading in enumerate(readings):
        if (reading.at, reading.job) == last:
            count = place + 1
    points = newest_segment(readings[:count], detector.settings, detector.per_build)
    return points, max(len(points) - 1 - detection.behind, 1)
