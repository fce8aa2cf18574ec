"""Runs the detector over the series that have new data: each point once, in the order of
planned_at, whatever arrives twice or late.

1. `detection_queue.enqueue` marks a series in the transaction that brings its data, and wakes the
   dashboard worker.
2. `detect_due` takes the marked series by the batch: those of which nothing is to be reported
   (services/quiet_series.py), which are nearly all, are read, judged and saved together. Each other
   one is judged in a transaction of its own. Either holds the DetectorStates; what another process
   holds is left to it.
3. Where the history up to the stored position is the one that was read, the detector goes on from
   there; where it is not (late data, a job measured again, an invalid point, another version of the
   detector), it reads the whole series again.
4. A change becomes an alert in the same transaction (services/alert_groups.py), so that it is
   neither lost nor raised twice.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import asdict, dataclass
from datetime import datetime, timedelta
from typing import Any

import orjson
import structlog
from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from dashboard.alerts.core.detected import noisier_since, points_until
from dashboard.alerts.services import first_failures, flaky, quiet_series, recovery
from dashboard.alerts.services.alert_groups import raise_alert, withdraw_unsupported
from dashboard.alerts.services.changes import LevelChange
from dashboard.detection import VERSION, UsualNoise, Verdict, smallest_change_shown
from dashboard.language.metrics import STATUS_METRIC
from dashboard.models import Alert, DetectorState, Series, Track
from dashboard.results.core.series_points import (
    Detection,
    JudgedSeries,
    SeriesPoint,
    change_start,
    judge_history,
    merge_repeats,
    unjudged,
)
from dashboard.results.selectors import history
from dashboard.runs.services.isolation import isolated

OLD = timedelta(days=7)
"""A change seen so long before the newest datum, or before now if it was imported, is history: its
alert is closed from the start, and nobody is notified.
"""
BATCH = 50
"""Series judged together: a result that brings data of one of them waits for the whole batch."""
_SAVE = """
    UPDATE dashboard_detectorstate AS stored
    SET due = false, version = %s, updated_at = now(), state = judged.state::jsonb,
        planned_at = judged.planned_at, can_show_percent = judged.can_show_percent,
        lends = judged.lends
    FROM unnest(%s::bigint[], %s::text[], %s::timestamptz[], %s::float8[], %s::bool[])
         AS judged (series, state, planned_at, can_show_percent, lends)
    WHERE stored.series_id = judged.series
"""

logger = structlog.get_logger(__name__)


def detect_due(*, most: int = 1000) -> int:
    """Run the detector over the series that are due; how many. Call it until it returns 0."""
    done = 0
    due = DetectorState.objects.filter(due=True).order_by("pk").values_list("pk", flat=True)
    series_ids = list(due[:most])
    for first in range(0, len(series_ids), BATCH):
        done += _detect_batch(series_ids[first : first + BATCH])
    return done


def _detect_batch(series_ids: Sequence[int]) -> int:
    try:
        done, others = _judge_quiet(series_ids)
    except Exception:  # one of them: which, is found by judging each alone
        logger.exception("series could not be judged together")
        done, others = 0, series_ids
    for series_id in others:
        with isolated("series could not be judged", series=series_id):  # it stays due
            done += detect(series_id=series_id)
    return done


def detect(*, series_id: int) -> bool:
    """Run the detector over one series; False where it is not due (any more), or another process
    judges it.
    """
    with transaction.atomic():
        stored = _locked([series_id]).first()
        if stored is None:
            return False
        series = stored.series
        (judging,) = _begin([stored])
        changes = judging.advance()
        _save([judging])
        for change in changes:
            raise_alert(change=change)
        if judging.read_again:
            withdraw_unsupported(series=series, changes=changes)
        if series.metric == STATUS_METRIC:
            flaky.end_if_settled(series=series)
            first_failures.check(series=series)
        else:
            recovery.close_recovered(series=series)
    return True


def _judge_quiet(series_ids: Collection[int]) -> tuple[int, Sequence[int]]:
    """Judge and save those in which nothing changed: how many, and the ids of the others. Ten
    queries, whatever the number.

    What changed is left as it is, to be judged again, alone. What another process holds is in
    neither: it judges them.
    """
    with transaction.atomic():
        locked = list(_locked(series_ids))
        quiet_ids = quiet_series.quiet([stored.series for stored in locked])
        quiet = [stored for stored in locked if stored.pk in quiet_ids]
        unchanged = []
        for judging in _begin(quiet):
            is_new = judging.stored.planned_at is None
            if (is_new or not judging.read_again) and not judging.advance():
                unchanged.append(judging)
        _save(unchanged)
    judged = {judging.series.pk for judging in unchanged}
    return len(judged), [stored.pk for stored in locked if stored.pk not in judged]


def _locked(series_ids: Collection[int]) -> QuerySet[DetectorState]:
    due = DetectorState.objects.filter(pk__in=series_ids, due=True).order_by("pk")
    related = ("benchmark", "config", "machine", "track")
    with_series = due.select_related(*(f"series__{name}" for name in related))
    return with_series.select_for_update(of=("self",), skip_locked=True)


@dataclass(slots=True)
class _Judging:
    """A due series with its stored state and what was read of it.

    fresh: the data that the detector has not seen. read_again: it begins with the first datum.
    noisier: as core/detected.py has it.
    """

    series: Series
    stored: DetectorState
    digest: history.Digest
    fresh: list[SeriesPoint]
    judged: JudgedSeries
    read_again: bool
    noisier: dict[str, Any] | None = None

    def advance(self) -> list[LevelChange]:
        """Have the detector take the fresh data, and note its state; the changes it reports."""
        next_fit = self.judged.now.segment.next_fit
        self.judged, detections = judge_history(self.fresh, self.judged)
        # Another noise model: the smallest change that the series can show is another one
        if self.read_again or self.judged.now.segment.next_fit != next_fit:
            self.stored.can_show_percent = smallest_change_shown(self.judged.now)
        readings = history.readings(self.series) if detections else []
        before = None if self.read_again else self.stored.state.get("noisier")
        self.noisier = noisier_since(before, self.judged, readings, detections)
        changes = []
        for detection in detections:
            if detection.verdict.state == "changed":
                is_old = self._is_old(detection.reading, readings[-1].at)
                change = _level_change(self.series, self.judged, readings, detection, is_old)
                changes.append(change)
        return changes

    def _is_old(self, seen: SeriesPoint, newest: datetime) -> bool:
        """True for a change that is no news, seen with this datum."""
        judged = self.stored.planned_at
        # An upgrade judges again, or for the first time, what the site before it had already
        if self.stored.version != str(VERSION) and judged is not None and seen.at <= judged:
            return True
        # A history may be imported in one piece or in many: news is what was measured lately
        return seen.at < (timezone.now() if seen.imported else newest) - OLD


def _begin(stored_states: Sequence[DetectorState]) -> list[_Judging]:
    """Read what each is judged by: three queries, and one for each history that is read again."""
    moments = {stored.pk: stored.planned_at or history.BEGINNING for stored in stored_states}
    digests = history.digests(moments)
    fresh = history.readings_after(moments)
    judgings = []
    for stored in stored_states:
        series, digest = stored.series, digests[stored.pk]
        per_build = history.is_per_build(series.track)
        judged = _stored_state(series, stored, per_build, digest.until)
        if judged is not None and _adds_to_earlier_build(stored, judged, fresh[stored.pk]):
            judged = None
        read_again = judged is None
        if judged is None:
            # Judged again, it borrows what it borrowed before
            judged = unjudged(series.metric, per_build, _borrowed_before(stored))
            if stored.planned_at is not None:
                fresh[stored.pk] = history.readings(series)
        judgings.append(_Judging(series, stored, digest, fresh[stored.pk], judged, read_again))
    _borrow([judging for judging in judgings if judging.judged.may_borrow])
    return judgings


def _adds_to_earlier_build(
    stored: DetectorState, judged: JudgedSeries, fresh: Sequence[SeriesPoint]
) -> bool:
    """True where each build is a point and one that others followed was measured once more."""
    if stored.series.track.kind != Track.Kind.VERSIONS or stored.planned_at is None:
        return False
    newest_build = judged.open[0].build if judged.open else None
    return history.adds_to_earlier_build(stored.series, stored.planned_at, fresh, newest_build)


def _borrow(young: Collection[_Judging]) -> None:
    """Have young series borrow the noise that the others of their machine have. One query."""
    if not young:
        return
    noises = history.noises_at({history.place_of(judging.series) for judging in young})
    for judging in young:
        near = noises[history.place_of(judging.series)]
        usual = history.usual_noise_near(judging.series, near)
        judging.judged = judging.judged.borrowing(usual)


def _save(judgings: Iterable[_Judging]) -> None:
    """Store where the series stand. One query."""
    ids, states, moments, shown, lending = [], [], [], [], []
    for judging in judgings:
        moment = max((reading.at for reading in judging.fresh), default=judging.stored.planned_at)
        limit = judging.judged.now.limit
        state = judging.judged.to_json()
        state["noisier"] = judging.noisier
        state["limit"] = asdict(limit) if limit else None
        if moment is not None:
            state["digest"] = judging.digest.now
        ids.append(judging.series.pk)
        states.append(orjson.dumps(state, option=orjson.OPT_SERIALIZE_NUMPY).decode())
        moments.append(moment)
        shown.append(judging.stored.can_show_percent)
        law = state["now"]["law"]
        lending.append(law is not None and history.noise_of(law).lends)
    if ids:
        with connection.cursor() as cursor:
            cursor.execute(_SAVE, [str(VERSION), ids, states, moments, shown, lending])


def _stored_state(
    series: Series, stored: DetectorState, per_build: bool, digest: str
) -> JudgedSeries | None:
    """The state to go on from; None where the whole series has to be read again."""
    if stored.version != str(VERSION) or stored.planned_at is None:
        return None
    if digest != stored.state["digest"]:
        return None
    try:
        return JudgedSeries.from_json(series.metric, per_build, stored.state)
    except (KeyError, ValueError) as error:
        logger.info("series judged again", series=series.pk, why=str(error))
        return None


def _borrowed_before(stored: DetectorState) -> UsualNoise | None:
    """Return what the stored detector has borrowed from other series."""
    usual = stored.state.get("now", {}).get("usual")
    return UsualNoise(**usual) if usual else None


def _level_change(
    series: Series,
    judged: JudgedSeries,
    readings: list[SeriesPoint],
    detection: Detection,
    is_old: bool,
) -> LevelChange:
    """The verdict with its points and builds, as an alert needs it."""
    seen, verdict = detection.reading, detection.verdict
    points, index = points_until(judged, readings, detection)
    if verdict.cause == "drift":
        first = index
        before = _drift_start(series, points, first)
    else:
        exact = verdict.cause == "step" and verdict.effect_low == verdict.effect_high
        first = change_start(points, index, judged.settings, exact)
        before = points[first - 1][-1]
    return LevelChange(
        series=series,
        verdict=verdict,
        first=points[first][0],
        before=before,
        seen=seen,
        decision=_decision(judged, points, verdict, index),
        is_old=is_old,
    )


def _drift_start(series: Series, points: list[list[SeriesPoint]], index: int) -> SeriesPoint:
    """The first datum of the level that drifted: after the last change that raised an alert."""
    earlier = Alert.objects.filter(series=series, planned_at__lt=points[index][0].at)
    moments = earlier.order_by("-planned_at").values_list("planned_at", flat=True)
    since = moments.first()
    return next(repeats[0] for repeats in points if since is None or repeats[0].at >= since)


def _decision(
    judged: JudgedSeries, points: list[list[SeriesPoint]], verdict: Verdict, index: int
) -> dict[str, Any]:
    """Collect what `manage.py replay_alert` needs to decide again."""
    usual = judged.now.usual
    values = []
    devices = []
    for position, repeats in enumerate(points):
        shown = merge_repeats(repeats, position, judged.settings)
        values.append([shown.value, shown.ci_low, shown.ci_high])
        devices.append(shown.device)
    return {
        "points": values,
        "devices": devices if any(devices) else [],
        "at": [repeats[0].at.isoformat() for repeats in points],
        "settings": asdict(judged.settings),
        "usual": asdict(usual) if usual else None,
        "verdict": {**asdict(verdict), "index": index},
    }
