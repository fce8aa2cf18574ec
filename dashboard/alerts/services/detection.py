"""Runs the detector over the series that have new data: each point once, in the order of
planned_at, whatever arrives twice or late.

1. `detection_queue.enqueue` marks a series in the transaction that brings its data, and wakes the
   dashboard worker.
2. `detect_due` takes the marked series one by one, each in a transaction of its own that holds its
   DetectorState.
3. Where the history up to the stored position is the one that was read, the detector goes on from
   there; where it is not (late data, a job measured again, an invalid point, another version of the
   detector), it reads the whole series again.
4. A change becomes an alert in the same transaction (services/alert_groups.py), so that it is
   neither lost nor raised twice.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction

from dashboard.alerts.services import first_failures, flaky, recovery
from dashboard.alerts.services.alert_groups import raise_alert, withdraw_unsupported
from dashboard.alerts.services.changes import LevelChange
from dashboard.detection import VERSION, UsualNoise, Verdict, smallest_change_shown
from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Alert, DetectorState, Series
from dashboard.results.core.series_points import (
    SeriesDetector,
    SeriesPoint,
    change_start,
    merge_repeats,
    newest_segment,
)
from dashboard.results.selectors import history

OLD = timedelta(days=14)
"""A change seen so long before the newest datum is history: charts show it, nobody is alerted."""
REPORTED = ("changed", "noisier")
NOISIER_FOR = 192
"""Points for which it is news that a series became noisier."""

logger = structlog.get_logger(__name__)


def detect_due(*, most: int = 1000) -> int:
    """Run the detector over the series that are due; how many. Call it until it returns 0."""
    done = 0
    due = DetectorState.objects.filter(due=True).values_list("pk", flat=True)
    for series_id in due[:most]:
        try:
            done += detect(series_id=series_id)
        except Exception:  # the series stays due, and does not keep the others waiting
            logger.exception("series could not be judged", series=series_id)
    return done


def detect(*, series_id: int) -> bool:
    """Run the detector over one series; False where it is not due (any more)."""
    with transaction.atomic():
        stored = DetectorState.objects.select_for_update().filter(pk=series_id, due=True).first()
        if stored is None:
            return False
        related = Series.objects.select_related("benchmark", "config", "machine", "track")
        series = related.get(pk=series_id)

        changes, read_again = _advance(series, stored)
        for change in changes:
            raise_alert(change=change)
        if read_again:
            withdraw_unsupported(series=series, changes=changes)
        if series.metric == STATUS_METRIC:
            flaky.end_if_settled(series=series)
            first_failures.check(series=series)
        else:
            recovery.close_recovered(series=series)
    return True


@dataclass(slots=True)
class _Detection:
    """A verdict "changed" or "noisier" and the datum with which it came.

    seen: points until then. behind: points from the first one of the new level to the last one.
    """

    reading: SeriesPoint
    verdict: Verdict
    seen: int
    behind: int


def _advance(series: Series, stored: DetectorState) -> tuple[list[LevelChange], bool]:
    """Advance the stored detector; the changes that it reports, and whether it read the whole
    series again.
    """
    per_build = history.is_per_build(series.track)
    detector = _stored_detector(series, stored, per_build)
    read_again = detector is None
    if detector is None:
        # Judged again, it borrows what it borrowed before
        detector = SeriesDetector(series.metric, per_build, _borrowed_before(stored))
        fresh = history.readings(series)
    else:
        fresh = history.readings(series, stored.planned_at)
    if detector.may_borrow:
        detector.borrow(history.usual_noise_near(series))
    next_fit = detector.now.next_fit

    detections = _detections(detector, fresh)
    readings = history.readings(series) if detections else []
    noisier = None if read_again else stored.state.get("noisier")
    noisier = _noisier_since(noisier, detector, readings, detections)
    refitted = read_again or detector.now.next_fit != next_fit
    _save_state(series, stored, detector, fresh, refitted=refitted, noisier=noisier)

    changes = []
    for detection in detections:
        is_recent = detection.reading.at >= readings[-1].at - OLD
        if is_recent and detection.verdict.state == "changed":
            changes.append(_level_change(series, detector, readings, detection))
    return changes, read_again


def _stored_detector(
    series: Series, stored: DetectorState, per_build: bool
) -> SeriesDetector | None:
    """The detector that goes on from the stored state; None where the whole series has to be read
    again.
    """
    if stored.version != str(VERSION) or stored.planned_at is None:
        return None
    if history.digest(series, stored.planned_at) != stored.state["digest"]:
        return None
    try:
        return SeriesDetector.restored(series.metric, per_build, stored.state)
    except (KeyError, ValueError) as error:
        logger.info("series judged again", series=series.pk, why=str(error))
        return None


def _borrowed_before(stored: DetectorState) -> UsualNoise | None:
    """What the stored detector has borrowed from other series."""
    usual = stored.state.get("now", {}).get("usual")
    return UsualNoise(**usual) if usual else None


def _detections(detector: SeriesDetector, fresh: list[SeriesPoint]) -> list[_Detection]:
    detections = []
    for reading in fresh:
        verdict = detector.take(reading)
        if verdict is None or verdict.index is None or verdict.state not in REPORTED:
            continue
        seen = detector.now.seen
        detections.append(_Detection(reading, verdict, seen, seen - 1 - verdict.index))
    return detections


def _noisier_since(
    noisier: dict[str, Any] | None,
    detector: SeriesDetector,
    readings: list[SeriesPoint],
    detections: list[_Detection],
) -> dict[str, Any] | None:
    """When the series became noisier and by how many percent, as JSON; None where its level has
    changed since, or where that is long ago.

    noisier: as it was before the detections.
    """
    for detection in detections:
        noisier = None
        if detection.verdict.state == "noisier":
            points, index = _points_until(detector, readings, detection)
            noisier = {
                "at": points[index][0].at.isoformat(),
                "percent": detection.verdict.effect,
                "seen": detection.seen,
            }
    if noisier is None or detector.now.seen - noisier["seen"] > NOISIER_FOR:
        return None
    return noisier


def _points_until(
    detector: SeriesDetector, readings: list[SeriesPoint], detection: _Detection
) -> tuple[list[list[SeriesPoint]], int]:
    """The points seen with a detection, and the index of the first one that changed."""
    last = detection.reading.at, detection.reading.job
    until = [reading for reading in readings if (reading.at, reading.job) <= last]
    points = newest_segment(until, detector.settings, detector.per_build)
    return points, max(len(points) - 1 - detection.behind, 1)


def _save_state(
    series: Series,
    stored: DetectorState,
    detector: SeriesDetector,
    fresh: list[SeriesPoint],
    *,
    refitted: bool,
    noisier: dict[str, Any] | None,
) -> None:
    """Store where the series stands.

    refitted: the noise model is another one, and so is the smallest change that it can show.
    noisier: as `_noisier_since` has it.
    """
    stored.due, stored.version = False, str(VERSION)
    stored.planned_at = fresh[-1].at if fresh else stored.planned_at
    limit = detector.now.limit
    stored.state = detector.state()
    stored.state["noisier"] = noisier
    stored.state["limit"] = asdict(limit) if limit else None
    if stored.planned_at is not None:
        stored.state["digest"] = history.digest(series, stored.planned_at)
    if refitted:
        stored.can_show_percent = smallest_change_shown(detector.now)
    stored.save()


def _level_change(
    series: Series, detector: SeriesDetector, readings: list[SeriesPoint], detection: _Detection
) -> LevelChange:
    """The verdict with its points and builds, as an alert needs it."""
    seen, verdict = detection.reading, detection.verdict
    points, index = _points_until(detector, readings, detection)
    if verdict.cause == "drift":
        first = index
        before = _drift_start(series, points, first)
    else:
        exact = verdict.cause == "step" and verdict.effect_low == verdict.effect_high
        first = change_start(points, index, detector.settings, exact)
        before = points[first - 1][-1]
    return LevelChange(
        series=series,
        verdict=verdict,
        first=points[first][0],
        before=before,
        seen=seen,
        decision=_decision(detector, points, verdict, index),
    )


def _drift_start(series: Series, points: list[list[SeriesPoint]], index: int) -> SeriesPoint:
    """The first datum of the level that drifted: after the last change that raised an alert."""
    earlier = Alert.objects.filter(series=series, planned_at__lt=points[index][0].at)
    moments = earlier.order_by("-planned_at").values_list("planned_at", flat=True)
    since = moments.first()
    return next(repeats[0] for repeats in points if since is None or repeats[0].at >= since)


def _decision(
    detector: SeriesDetector, points: list[list[SeriesPoint]], verdict: Verdict, index: int
) -> dict[str, Any]:
    """What `manage.py replay_alert` needs to decide again."""
    usual = detector.now.series.usual
    values = []
    devices = []
    for position, repeats in enumerate(points):
        shown = merge_repeats(repeats, position, detector.settings)
        values.append([shown.value, shown.ci_low, shown.ci_high])
        devices.append(shown.device)
    return {
        "points": values,
        "devices": devices if any(devices) else [],
        "at": [repeats[0].at.isoformat() for repeats in points],
        "settings": asdict(detector.settings),
        "usual": asdict(usual) if usual else None,
        "verdict": {**asdict(verdict), "index": index},
    }
