"""Judges the series that have new data, each one once, in the order of planned_at, whatever arrives
twice or late.

1. `due.request` marks a series in the transaction that brings its data, and wakes the dashboard
   worker.
2. `detect_due` takes the marked series one by one, each in a transaction of its own that holds its
   DetectorState.
3. Where the history up to the stored position is the one that was judged, only what came since is
   judged; where it is not (late data, a job measured again, an invalid point, another detector),
   the series is judged anew.
4. A change becomes an alert in the same transaction (services/alerting.py), so that it is neither
   lost nor told twice.
"""

from dataclasses import asdict, dataclass
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction

from dashboard.alerts.services import flaky, recovery
from dashboard.alerts.services.alert_groups import raise_alert, reconsider
from dashboard.alerts.services.changes import LevelChange
from dashboard.detection import VERSION, Verdict, smallest_change_shown
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
"""A change told so long before the newest datum is history: charts show it, nobody is alerted."""

logger = structlog.get_logger(__name__)


def detect_due(*, most: int = 1000) -> int:
    """Judge the series that are due; how many. Call it until it returns 0."""
    done = 0
    for series_id in DetectorState.objects.filter(due=True).values_list("pk", flat=True)[:most]:
        try:
            done += detect(series_id=series_id)
        except (
            Exception
        ):  # a series that cannot be judged stays due, and keeps no other from being judged
            logger.exception("series could not be judged", series=series_id)
    return done


def detect(*, series_id: int) -> bool:
    """Judge one series; False where it is not due (any more)."""
    with transaction.atomic():
        stored = DetectorState.objects.select_for_update().filter(pk=series_id, due=True).first()
        if stored is None:
            return False
        series = Series.objects.select_related("benchmark", "config", "machine", "track").get(
            pk=series_id
        )
        changes, anew = _follow(series, stored)
        for change in changes:
            raise_alert(change=change)
        if anew:
            reconsider(series=series, changes=changes)
        if series.metric == STATUS_METRIC:
            flaky.settle(series=series)
        else:
            recovery.close_recovered(series=series)
    return True


@dataclass(slots=True)
class _Told:
    """A verdict and the datum with which it was told."""

    reading: SeriesPoint
    verdict: Verdict
    behind: int  # points from the first one of the new level to the last one seen


def _follow(series: Series, stored: DetectorState) -> tuple[list[LevelChange], bool]:
    """Advance the stored detector; the changes that it told, and whether the whole history was
    judged anew.
    """
    follower = _stored_follower(series, stored)
    anew = follower is None
    follower = follower or SeriesDetector(series.metric, history.is_per_build(series.track))
    fresh = history.readings(series, None if anew else stored.planned_at)
    shape = follower.now.next_fit
    told = [one for reading in fresh if (one := _judge(follower, reading)) is not None]
    _keep(series, stored, follower, fresh, refitted=anew or follower.now.next_fit != shape)
    if not told:
        return [], anew
    readings = history.readings(series)
    recent = readings[-1].at - OLD
    return [
        _change(series, follower, readings, one) for one in told if one.reading.at >= recent
    ], anew


def _stored_follower(series: Series, stored: DetectorState) -> SeriesDetector | None:
    """The follower that goes on from the stored state; None where the series has to be judged
    anew.
    """
    if stored.version != str(VERSION) or stored.planned_at is None:
        return None
    if history.digest(series, stored.planned_at) != stored.state["digest"]:
        return None
    try:
        return SeriesDetector.restored(
            series.metric, history.is_per_build(series.track), stored.state
        )
    except (KeyError, ValueError) as error:
        logger.info("series judged anew", series=series.pk, why=str(error))
        return None


def _judge(follower: SeriesDetector, reading: SeriesPoint) -> _Told | None:
    verdict = follower.take(reading)
    if verdict is None or verdict.state != "changed" or verdict.index is None:
        return None
    return _Told(reading, verdict, follower.now.seen - 1 - verdict.index)


def _keep(
    series: Series,
    stored: DetectorState,
    follower: SeriesDetector,
    fresh: list[SeriesPoint],
    *,
    refitted: bool,
) -> None:
    """Store where the series stands. The smallest change shown is estimated where the noise law
    was.
    """
    stored.due, stored.version = False, str(VERSION)
    stored.planned_at = fresh[-1].at if fresh else stored.planned_at
    stored.state = follower.state()
    if stored.planned_at is not None:
        stored.state["digest"] = history.digest(series, stored.planned_at)
    if refitted:
        stored.can_show_percent = smallest_change_shown(follower.now)
    stored.save()


def _change(
    series: Series, follower: SeriesDetector, readings: list[SeriesPoint], told: _Told
) -> LevelChange:
    """The verdict with its points and builds, as an alert needs it."""
    until = [one for one in readings if (one.at, one.job) <= (told.reading.at, told.reading.job)]
    points = newest_segment(until, follower.settings, follower.per_build)
    verdict, seen = told.verdict, len(points) - 1
    exact = verdict.cause == "step" and verdict.effect_low == verdict.effect_high
    index = max(seen - told.behind, 1)
    drifts = verdict.cause == "drift"
    first = index if drifts else change_start(points, index, follower.settings, exact)
    return LevelChange(
        series=series,
        verdict=verdict,
        first=points[first][0],
        before=_drifted_from(series, points, first) if drifts else points[first - 1][-1],
        seen=told.reading,
        decision=_decision(follower, points, verdict, index),
    )


def _drifted_from(series: Series, points: list[list[SeriesPoint]], index: int) -> SeriesPoint:
    """The first datum of the level that drifted: after the last change that was told."""
    told = Alert.objects.filter(series=series, planned_at__lt=points[index][0].at).order_by(
        "-planned_at"
    )
    since = told.values_list("planned_at", flat=True).first()
    return next(repeats[0] for repeats in points if since is None or repeats[0].at >= since)


def _decision(
    follower: SeriesDetector, points: list[list[SeriesPoint]], verdict: Verdict, index: int
) -> dict[str, Any]:
    """What `manage.py replay_alert` needs to decide again."""
    shown = [
        merge_repeats(repeats, position, follower.settings)
        for position, repeats in enumerate(points)
    ]
    return {
        "points": [[one.value, one.ci_low, one.ci_high] for one in shown],
        "at": [repeats[0].at.isoformat() for repeats in points],
        "settings": asdict(follower.settings),
        "verdict": {**asdict(verdict), "index": index},
    }
