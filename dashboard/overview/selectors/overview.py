"""Data of the overview next to the families: what moved, what fails, open alerts, workers."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import connection
from django.db.models import Count, Exists, Max, OuterRef, Subquery, Value
from django.db.models.functions import Coalesce

from dashboard.alerts.selectors import alerts
from dashboard.alerts.selectors.variants import settings_of_variant
from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange, change, quiet
from dashboard.models import (
    AlertGroup,
    Job,
    JobState,
    Machine,
    Run,
    Schedule,
    Severity,
    Worker,
    WorkflowState,
)
from dashboard.results.selectors.build_order import TrackBuild
from dashboard.results.selectors.rollup import (
    CASE_COLUMNS,
    CASE_TABLES,
    SHOWN,
    CaseRollup,
    Newest,
    case_rollups_of,
)
from dashboard.runs.selectors.fleet import worker_state
from dashboard.runs.selectors.runs import ALIVE, WAITING
from dashboard.runs.selectors.schedules import due_after
from dashboard.ui.locations import SeriesLocation

MOVING_METRICS = ("latency_ms", "cold_start_s", "peak_memory_gb")
LATE = timedelta(minutes=30)  # as long as a schedule may take to begin
SHOWN_ALERTS = 6
# One of two series says how a case ended on its newest build: `passed` has every job but those that
# are unsupported, latency has those.
_NOTABLE = f"""
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
    UNION ALL
    SELECT {CASE_COLUMNS} {CASE_TABLES}
    JOIN unnest(%(metrics)s::text[], %(thresholds)s::float8[]) AS moving (metric, percent)
         ON moving.metric = series.metric
    WHERE series.machine_id = %(machine)s AND series.track_id = %(track)s AND {SHOWN}
          AND series.newest_status = 'pass' AND series.previous_value <> 0
          AND series.newest_build_id = (%(builds)s::bigint[])[1]
          AND abs(series.newest_value / series.previous_value - 1) * 100 >= moving.percent
"""  # noqa: S608 - made of constants


@dataclass(frozen=True, slots=True)
class Mover:
    """A series whose newest build left its interval by more than the metric's threshold."""

    case: CaseRollup
    metric: Metric
    newest: Newest
    change: ValueChange


@dataclass(frozen=True, slots=True)
class Notable:
    """Movers, in the order of `movers`; and cases whose last job on their newest build failed."""

    movers: list[Mover]
    failed: list[CaseRollup]


def notable(place: SeriesLocation, builds: Sequence[TrackBuild]) -> Notable:
    """Read what moved and what fails at the place; `builds` are its `newest_first`. One query."""
    with connection.cursor() as cursor:
        cursor.execute(
            _NOTABLE,
            {
                "machine": place.machine.pk,
                "track": place.track.pk,
                "builds": [build.build for build in builds],
                "metrics": [*MOVING_METRICS],
                "thresholds": [METRICS[metric].threshold_percent for metric in MOVING_METRICS],
            },
        )
        cases = case_rollups_of(cursor.fetchall(), builds)
    failed = [case for case in cases if case.failed]
    passed = [case for case in cases if not case.failed]
    failed.sort(key=lambda case: (case.latest and case.latest.at_s) or 0.0, reverse=True)
    return Notable(movers(passed), failed)


def movers(cases: Sequence[CaseRollup]) -> list[Mover]:
    """List what changed since the build before: first what grew, the largest change first.

    It is a mean of few processes against one: a place to look, and nothing that is shown to differ.
    """
    moved: list[Mover] = []
    for case in cases:
        for key in MOVING_METRICS:
            mover = _mover(case, METRICS[key])
            if mover is not None:
                moved.append(mover)
    return sorted(moved, key=_by_growth)


def _by_growth(mover: Mover) -> tuple[bool, float]:
    percent = mover.change.percent or 0.0
    return percent < 0, -abs(percent)


def _mover(case: CaseRollup, metric: Metric) -> Mover | None:
    newest = case.newest.get(metric.key)
    if newest is None or not newest.previous or newest.value is None:
        return None
    low, high = newest.low, newest.high
    if low is not None and high is not None and low <= newest.previous <= high:
        return None
    moved = quiet(change(metric, newest.previous, newest.value), metric)
    if moved is None:
        return None
    return Mover(case, metric, newest, moved)


@dataclass(frozen=True, slots=True)
class OpenAlerts:
    """Groups that nobody has closed, of all machines.

    first: those to look at first: of the chosen machine, then of releases before variants, then
        opened since the last look, then by severity, then by age.
    here: how many are of the chosen machine.
    opened: how many were opened since the last look.
    untaken: how many of high severity are new and assigned to nobody.
    """

    total: int
    first: list[AlertGroup]
    here: int
    opened: int
    untaken: int


def open_alerts(since: datetime, machine: int | None) -> OpenAlerts:
    """The open alerts. One query, of the columns that are shown.

    since: the last look. machine: the chosen one's id; None where there is none.
    """
    shown = (
        "title",
        "severity",
        "cause",
        "evidence_state",
        "workflow_state",
        "assignee",
        "created_at",
        "machine__key",
        "base__variant",
        "new__variant",
    )
    open_groups = alerts.listing({}).select_related(None)
    open_groups = open_groups.select_related("machine", "base", "new")

    def order(group: AlertGroup) -> tuple[bool, bool, bool, int]:
        is_elsewhere = group.machine_id != machine
        is_of_variant = bool(settings_of_variant(group))
        is_older = group.created_at < since
        return is_elsewhere, is_of_variant, is_older, alerts.RANK[group.severity]

    groups = sorted(open_groups.only(*shown), key=order)
    here = sum(group.machine_id == machine for group in groups)
    opened = sum(group.created_at >= since for group in groups)
    untaken = [
        group
        for group in groups
        if group.severity == Severity.HIGH
        and group.workflow_state == WorkflowState.NEW
        and group.assignee_id is None
    ]
    return OpenAlerts(len(groups), groups[:SHOWN_ALERTS], here, opened, len(untaken))


@dataclass(frozen=True, slots=True)
class WorkerLine:
    """A worker and its machine, or a machine without a worker.

    state: a word of templatetags' signs. waiting: jobs. obstacle: why it begins none.
    """

    machine: str
    name: str
    device: str
    last_seen: datetime | None
    state: str
    waiting: int
    obstacle: str = ""


def fleet(now: datetime) -> list[WorkerLine]:
    """Every worker with its machine, and every machine without a worker that is not hidden. One
    query.
    """
    waiting = Job.objects.filter(state__in=WAITING, run__machine=OuterRef("pk"))
    per_machine = waiting.order_by().values("run__machine").annotate(number=Count("pk"))
    busy = Job.objects.filter(state=JobState.RUNNING, worker=OuterRef("workers__pk"))
    rows = Machine.objects.annotate(
        waiting=Coalesce(Subquery(per_machine.values("number")), Value(0)), busy=Exists(busy)
    )
    rows = rows.exclude(hidden=True, workers=None).order_by("key", "workers__name")
    names = ("name", "device", "last_seen", "paused", "full_disk", "device_holder")
    columns = ["key", "busy", "waiting", *(f"workers__{name}" for name in names)]
    lines: list[WorkerLine] = []
    for key, is_busy, waiting_jobs, *values in rows.values_list(*columns):
        if values[0] is None:
            lines.append(WorkerLine(key, "", "", None, "", waiting_jobs))
            continue
        worker = Worker(**dict(zip(names, values, strict=True)))
        seen, obstacle = worker.last_seen, worker.obstacle
        alive = seen is not None and now - seen <= ALIVE
        state = worker_state(
            alive=alive, paused=worker.paused, blocked=bool(obstacle), busy=is_busy
        )
        lines.append(
            WorkerLine(key, worker.name, worker.device, seen, state, waiting_jobs, obstacle)
        )
    return lines


@dataclass(frozen=True, slots=True)
class ScheduleLine:
    """An enabled schedule. last: when its last run was triggered; due: when the next one is."""

    schedule: Schedule
    last: datetime | None
    run: int | None
    run_state: str
    due: datetime | None
    is_late: bool


def schedules(now: datetime) -> list[ScheduleLine]:
    """One query."""
    runs = Run.objects.filter(schedule=OuterRef("pk")).order_by("-created_at")
    enabled = Schedule.objects.filter(enabled=True).select_related(
        "crontab", "track", "machine", "periodic_task"
    )
    with_last_run = enabled.annotate(last=Max("runs__created_at")).annotate(
        run=Subquery(runs.values("pk")[:1]), run_state=Subquery(runs.values("state")[:1])
    )
    return [_schedule_line(schedule, now) for schedule in with_last_run]


def _schedule_line(schedule: Schedule, now: datetime) -> ScheduleLine:
    last: datetime | None = schedule.last  # type: ignore[attr-defined]  # annotated
    begun = last or (schedule.periodic_task.date_changed if schedule.periodic_task else None)
    due = None
    if begun is not None:
        due = due_after(schedule.crontab, begun)
    run, state = schedule.run, schedule.run_state or ""  # type: ignore[attr-defined]  # annotated
    return ScheduleLine(schedule, last, run, state, due, due is not None and now > due + LATE)
