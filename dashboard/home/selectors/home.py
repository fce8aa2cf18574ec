"""Data of home next to its map: what fails, and schedules."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Exists, Max, OuterRef, Subquery

from dashboard.models import Run, Schedule, Worker
from dashboard.results.selectors.build_order import newest_first
from dashboard.results.selectors.rollup import (
    CASE_COLUMNS,
    CASE_TABLES,
    SHOWN,
    CaseRollup,
    case_rollups_of,
)
from dashboard.runs.selectors.runs import ALIVE
from dashboard.runs.selectors.schedules import due_after
from dashboard.ui.locations import SeriesLocation

LATE = timedelta(minutes=30)  # as long as a schedule may take to begin
# One of two series says how a case ended on its newest build: `passed` has every job but those that
# are unsupported, latency has those.
_FAILING = f"""
    WITH ended AS (
        SELECT DISTINCT ON (benchmark_id, config_id) id, newest_status FROM dashboard_series
        WHERE machine_id = %(machine)s AND track_id = %(track)s
              AND metric IN ('passed', 'latency_ms') AND newest_at IS NOT NULL
        ORDER BY benchmark_id, config_id,
                 array_position(%(builds)s::bigint[], newest_build_id), newest_at DESC
    )
    SELECT {CASE_COLUMNS} {CASE_TABLES}
    WHERE series.id IN (SELECT id FROM ended WHERE newest_status NOT IN ('pass', 'unsupported', ''))
          AND {SHOWN}
"""  # noqa: S608 - made of constants


def failing(place: SeriesLocation) -> list[CaseRollup]:
    """The cases whose last job on their newest build failed, the latest first. Two queries."""
    builds = newest_first(place)
    places = {"machine": place.machine.pk, "track": place.track.pk}
    with connection.cursor() as cursor:
        cursor.execute(_FAILING, {**places, "builds": [build.build for build in builds]})
        cases = case_rollups_of(cursor.fetchall(), builds)
    failed = [case for case in cases if case.failed]
    return sorted(failed, key=lambda case: -((case.latest and case.latest.at_s) or 0.0))


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """An enabled schedule. last: when its last run was triggered; due: when the next one is."""

    schedule: Schedule
    last: datetime | None
    run: int | None
    run_state: str
    due: datetime | None
    is_late: bool
    machine_has_worker: bool


def schedules(now: datetime) -> list[ScheduleLine]:
    """One query."""
    runs = Run.objects.filter(schedule=OuterRef("pk")).order_by("-created_at")
    enabled = Schedule.objects.filter(enabled=True).select_related(
        "crontab", "track", "machine", "periodic_task"
    )
    alive = Worker.objects.filter(machine=OuterRef("machine"), last_seen__gte=now - ALIVE)
    with_last_run = enabled.annotate(last=Max("runs__created_at")).annotate(
        run=Subquery(runs.values("pk")[:1]),
        run_state=Subquery(runs.values("state")[:1]),
        has_worker=Exists(alive),
    )
    return [_schedule_line(schedule, now) for schedule in with_last_run]


def _schedule_line(schedule: Schedule, now: datetime) -> ScheduleLine:
    last: datetime | None = schedule.last  # type: ignore[attr-defined]  # annotated
    begun = last or (schedule.periodic_task.date_changed if schedule.periodic_task else None)
    due = None
    if begun is not None:
        due = due_after(schedule.crontab, begun)
    run, state = schedule.run, schedule.run_state or ""  # type: ignore[attr-defined]  # annotated
    is_late = due is not None and now > due + LATE
    has_worker: bool = schedule.has_worker  # type: ignore[attr-defined]  # annotated
    return ScheduleLine(schedule, last, run, state, due, is_late, has_worker)
