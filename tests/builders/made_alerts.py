"""Alerts of the made-up history: changes that the detector finds in it, in every state of triage.

States, causes and confirmations are made up.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle

import numpy as np
from django.utils import timezone

from dashboard.alerts.services.descriptions import describe
from dashboard.detection import VERSION, Point, SeriesState, Settings, Verdict, judge
from dashboard.language.metrics import METRICS
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    Cause,
    Confirmation,
    Datum,
    Direction,
    EvidenceState,
    Job,
    JobState,
    Kind,
    Purpose,
    Run,
    RunState,
    Series,
    Status,
    TorchBuild,
    WorkflowState,
)
from dashboard.results.selectors.trend import TrendSeries
from dashboard.ui.charts import ChartLine
from tests.builders.made_history import KEY

JUDGED = ("latency_ms", "cold_start_s", "peak_memory_gb")
MOST_GROUPS = 24
PAIRS = 6
BEGUN = (AlertState.SUSPECTED, AlertState.CONFIRMING)
PROVEN = (*BEGUN, AlertState.CONFIRMED)
# The states that a group has gone through; the newest group first
LIVES: tuple[tuple[AlertState, ...], ...] = (
    PROVEN,
    (AlertState.SUSPECTED,),
    BEGUN,
    (*PROVEN, AlertState.ACKNOWLEDGED),
    PROVEN,
    (*BEGUN, AlertState.NOT_REPRODUCED),
    (*PROVEN, AlertState.ACKNOWLEDGED, AlertState.FIXED),
    (*BEGUN, AlertState.INCONCLUSIVE),
    (*PROVEN, AlertState.RECOVERED),
    (*PROVEN, AlertState.INVALID),
)
CLOSED = {AlertState.FIXED, AlertState.INVALID, AlertState.NOT_REPRODUCED, AlertState.RECOVERED}


@dataclass(frozen=True, slots=True)
class Change:
    """A change of one series.

    index: of the first point of the new level, among all data of the line.
    points: those that the detector had read; their positions are such indices, too.
    """

    series: Series
    line: ChartLine
    verdict: Verdict
    index: int
    points: tuple[Point, ...]

    def moment(self, index: int) -> datetime:
        """Return when that datum of the line was measured."""
        return datetime.fromtimestamp(self.line.at_ms[index] / 1000, UTC)

    @property
    def at(self) -> datetime:
        return self.moment(self.index)

    @property
    def is_eager(self) -> bool:
        return self.series.config.name == "eager"

    @property
    def base(self) -> str:
        return self.line.build[max(self.index - 1, 0)]

    @property
    def new(self) -> str:
        return self.line.build[self.index]

    @property
    def direction(self) -> Direction:
        worse = ((self.verdict.effect or 0) > 0) == METRICS[self.series.metric].lower_is_better
        return Direction.REGRESSION if worse else Direction.IMPROVEMENT


def write_alerts() -> None:
    """Write what changed at one build, in eager or in what is compiled, as one group."""
    builds = {build.label: build for build in TorchBuild.objects.filter(runs__machine__key=KEY)}
    grouped: dict[tuple[str, bool], list[Change]] = defaultdict(list)
    judged = Series.objects.filter(machine__key=KEY, metric__in=JUDGED, count__gt=0).order_by("pk")
    for series in judged.select_related("benchmark", "config", "machine", "track")[:200]:
        for line in TrendSeries([series]).lines([series]):
            for change in _changes(series, line):
                if change.base != change.new:  # not an outlier
                    grouped[change.new, change.is_eager].append(change)
    newest = sorted(grouped.values(), key=lambda changes: changes[0].at, reverse=True)
    lives = {worse: cycle(LIVES) for worse in (False, True)}  # so that both have every state
    for changes in newest[:MOST_GROUPS]:
        worse = any(change.direction == Direction.REGRESSION for change in changes)
        _write_group(changes, next(lives[worse]), builds)


def _changes(series: Series, line: ChartLine) -> list[Change]:
    """Changes that the detector reports; of those that begin at one point the last."""
    points = []
    for place in np.flatnonzero(~np.isnan(line.value)).tolist():
        ends = (line.low[place], line.high[place])
        low, high = (None if np.isnan(end) else float(end) for end in ends)
        points.append(Point(float(line.value[place]), low, high, place))
    by_index = {}
    _, reports = judge(points, SeriesState(_settings(series)))
    for seen_at, verdict in reports:
        if verdict.state == "changed":
            index = points[verdict.index].position
            by_index[index] = Change(series, line, verdict, index, tuple(points[: seen_at + 1]))
    return list(by_index.values())


def _settings(series: Series) -> Settings:
    return Settings(METRICS[series.metric].threshold_percent, "continuous")


def _write_group(
    changes: Sequence[Change], life: Sequence[AlertState], builds: dict[str, TorchBuild]
) -> None:
    first = max(
        changes,
        key=lambda each: (each.direction == Direction.REGRESSION, abs(each.verdict.effect or 0)),
    )
    cause = Cause.COMPILER if AlertState.CONFIRMED in life else Cause.UNKNOWN
    cause = Cause.EAGER if first.is_eager else cause
    moved = "moved as much as what is compiled" if first.is_eager else "did not move"
    group = AlertGroup.objects.create(
        evidence_state=[state for state in life if state in EvidenceState.values][-1],
        workflow_state=life[-1] if life[-1] in WorkflowState.values else WorkflowState.NEW,
        cause=cause,
        evidence=[{"fact": "eager control", "says": f"Eager {moved}.", "supports": cause}],
        machine=first.series.machine,
        track=first.series.track,
        base=builds[first.base],
        new=builds[first.new],
    )
    opened_at = first.at + timedelta(hours=2)
    AlertGroup.objects.filter(pk=group.pk).update(
        created_at=opened_at,
        closed_at=opened_at + timedelta(days=1) if life[-1] in CLOSED else None,
    )
    alerts = Alert.objects.bulk_create(_alert(change, group) for change in changes)
    describe(groups=[group])
    for number, state in enumerate(life):
        event = AlertEvent.objects.create(
            group=group, action="state" if number else "opened", state=state, text="Made up."
        )
        at = opened_at + timedelta(hours=3 * number)  # auto_now_add has set it to now
        AlertEvent.objects.filter(pk=event.pk).update(at=at, considered_at=at)
    if len(life) > 1:
        _confirm(alerts[changes.index(first)], first, life[-1])


def _alert(change: Change, group: AlertGroup) -> Alert:
    verdict = change.verdict
    decision = {
        "settings": asdict(_settings(change.series)),
        "verdict": asdict(verdict),
        "points": [[point.value, point.ci_low, point.ci_high] for point in change.points],
        "at": [change.moment(point.position).isoformat() for point in change.points],
    }
    return Alert(
        group=group,
        series=change.series,
        kind=Kind.DRIFT if verdict.cause == "drift" else Kind.STEP,
        direction=change.direction,
        job_id=change.line.job[change.index],
        planned_at=change.at,
        seen_at=change.moment(change.points[-1].position),
        base=group.base,
        new=group.new,
        effect=verdict.effect,
        low=verdict.effect_low,
        high=verdict.effect_high,
        unit=verdict.unit,
        false_alarm_share=1 - verdict.sure,
        detector_version=str(VERSION),
        decision=decision,
    )


def _confirm(alert: Alert, change: Change, state: AlertState) -> None:
    """Measure pairs around the two levels, or around one that did not reproduce."""
    is_running = state == AlertState.CONFIRMING
    unproven = {
        AlertState.NOT_REPRODUCED: "not_reproduced",
        AlertState.INCONCLUSIVE: "inconclusive",
    }
    alert.confirmation = "" if is_running else unproven.get(state, "confirmed")
    alert.save(update_fields=["confirmation"])
    rng = np.random.default_rng(alert.pk)
    order = [arm for _ in range(PAIRS) for arm in rng.permutation(["base", "new"])]
    confirmation = Confirmation.objects.create(
        group=alert.group,
        order=order,
        state=Confirmation.State.RUNNING if is_running else Confirmation.State.DONE,
    )
    confirmation.alerts.add(alert)
    share = 0 if state == AlertState.NOT_REPRODUCED else (alert.effect or 0) / 100
    level = float(np.nanmedian(change.line.value[: change.index]))
    for number, arm in enumerate(order[: PAIRS if is_running else None]):
        value = level * (1 + share * (arm == "new")) * float(np.exp(rng.normal(0, 0.006)))
        at = change.at + timedelta(hours=3, minutes=3 * number)
        job = _confirmation_job(confirmation, alert, arm, at)
        Datum.objects.create(
            series=alert.series,
            job=job,
            planned_at=at,
            build=job.run.build,
            purpose=Purpose.CONFIRMATION,
            status=Status.PASS,
            value=value,
            low=value * 0.997,
            high=value * 1.003,
            count=30,
        )
    if is_running:  # without a job to wait for it would be concluded
        _confirmation_job(confirmation, alert, "new", None)


def _confirmation_job(
    confirmation: Confirmation, alert: Alert, side: str, at: datetime | None
) -> Job:
    """One that ended then; None: one that waits."""
    series, build = alert.series, alert.new if side == "new" else alert.base
    assert build
    run = Run.objects.create(
        purpose=Purpose.CONFIRMATION,
        state=RunState.COMPLETED if at else RunState.PLANNED,
        machine=series.machine,
        track=series.track,
        build=build,
        confirmation=confirmation,
        request={"side": side},
        finished_at=at,
    )
    if at is None:
        return Job.objects.create(
            run=run, benchmark=series.benchmark, config=series.config, planned_at=timezone.now()
        )
    Run.objects.filter(pk=run.pk).update(created_at=at)
    return Job.objects.create(
        run=run,
        benchmark=series.benchmark,
        config=series.config,
        state=JobState.DONE,
        status=Status.PASS,
        planned_at=at,
        claimed_at=at,
        finished_at=at + timedelta(seconds=38),
    )
