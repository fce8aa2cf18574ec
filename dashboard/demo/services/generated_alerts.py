"""Alerts for the made-up history of services/generated.py: what the detector finds in it, in every
state of triage.

The changes are what dashboard/detection reports of it, point by point; states, causes,
confirmations and remarks are made up.
"""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import cycle

import numpy as np
from django.utils import timezone

from dashboard.alerts.services.descriptions import describe
from dashboard.detection import VERSION, OnlineDetector, Point, Settings, Verdict
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

JUDGED = ("latency_ms", "cold_start_s", "peak_memory_gb")
MOST_SERIES = 200  # a larger history is for speed, not for more alerts
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
REMARKS = {
    AlertState.SUSPECTED: "The detector is sure of a new level.",
    AlertState.CONFIRMING: "Both builds are measured again, in turn.",
    AlertState.CONFIRMED: f"It is there again in {PAIRS} pairs.",
    AlertState.NOT_REPRODUCED: f"Measured side by side in {PAIRS} pairs, the builds do not differ.",
    AlertState.INCONCLUSIVE: "12 pairs did not decide it.",
    AlertState.RECOVERED: "The series is back at its old level.",
    AlertState.ACKNOWLEDGED: "Known; the fusion heuristics changed in this build.",
    AlertState.FIXED: "Reverted upstream.",
    AlertState.INVALID: "The machine was shared that night.",
}
CLOSED = {AlertState.FIXED, AlertState.INVALID, AlertState.NOT_REPRODUCED, AlertState.RECOVERED}


@dataclass(frozen=True, slots=True)
class Found:
    """A change of one series, and what is needed to tell it."""

    series: Series
    line: ChartLine
    verdict: Verdict
    index: int  # of the first point of the new level, among all data of the line
    seen_at: int  # of the point with which the detector reported it

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.line.at_ms[self.index] / 1000, UTC)

    @property
    def effect(self) -> float:
        return self.verdict.effect or 0.0

    @property
    def eager(self) -> bool:
        return self.series.config.name == "eager"

    @property
    def base(self) -> str:
        return self.line.build[max(self.index - 1, 0)]

    @property
    def new(self) -> str:
        return self.line.build[self.index]

    @property
    def direction(self) -> Direction:
        worse = (self.effect > 0) == METRICS[self.series.metric].lower_is_better
        return Direction.REGRESSION if worse else Direction.IMPROVEMENT


def generate_alerts(*, machine: str) -> int:
    """Judge the history of ``machine`` and write what is found as groups; how many.

    1. the detector judges each series
    2. what changed at one build, in eager or in what is compiled, makes one group
    3. groups get a life, newest first
    """
    builds = {
        build.label: build
        for build in TorchBuild.objects.filter(runs__machine__key=machine).distinct()
    }
    grouped: dict[tuple[str, bool], list[Found]] = defaultdict(list)
    for found in _judged(machine):
        grouped[found.new, found.eager].append(found)
    newest = sorted(grouped.values(), key=lambda changes: changes[0].at, reverse=True)[:MOST_GROUPS]
    lives = {worse: cycle(LIVES) for worse in (False, True)}  # apart, so that both have every state
    for changes in newest:
        worse = any(one.direction == Direction.REGRESSION for one in changes)
        _write_group(changes, next(lives[worse]), builds)
    return len(newest)


def _judged(machine: str) -> list[Found]:
    """Every change that the detector finds at a new build; the generated outliers are left
    aside.
    """
    chosen = Series.objects.filter(machine__key=machine, metric__in=JUDGED, count__gt=0)
    found = []
    for series in chosen.select_related("benchmark", "config", "machine", "track").order_by("pk")[
        :MOST_SERIES
    ]:
        for line in TrendSeries([series]).lines([series]):
            changes = _changes(series, line)
            found += [change for change in changes if change.base != change.new]
    return found


def _changes(series: Series, line: ChartLine) -> list[Found]:
    """What the detector reports of a line, of changes that begin at one point the last."""
    detector = OnlineDetector(_settings(series.metric))
    measured = np.flatnonzero(~np.isnan(line.value)).tolist()
    by_index = {}
    for seen_at in measured:
        low, high = (
            None if np.isnan(end) else float(end) for end in (line.low[seen_at], line.high[seen_at])
        )
        verdict = detector.update(Point(float(line.value[seen_at]), low, high, seen_at))
        if verdict.state == "changed" and verdict.index is not None:
            index = measured[verdict.index]
            by_index[index] = Found(series, line, verdict, index, seen_at)
    return list(by_index.values())


def _settings(metric: str) -> Settings:
    return Settings(METRICS[metric].threshold_percent, "continuous")


def _write_group(
    changes: Sequence[Found], life: Sequence[AlertState], builds: dict[str, TorchBuild]
) -> None:
    first = max(changes, key=lambda one: (one.direction == Direction.REGRESSION, abs(one.effect)))
    group = AlertGroup.objects.create(
        evidence_state=[state for state in life if state in EvidenceState.values][-1],
        workflow_state=life[-1] if life[-1] in WorkflowState.values else WorkflowState.NEW,
        cause=Cause.EAGER
        if first.eager
        else Cause.COMPILER
        if AlertState.CONFIRMED in life
        else Cause.UNKNOWN,
        evidence=_evidence(eager=first.eager, confirmed=AlertState.CONFIRMED in life),
        machine=first.series.machine,
        track=first.series.track,
        base=builds[first.base],
        new=builds[first.new],
    )
    told_at = first.at + timedelta(hours=2)
    AlertGroup.objects.filter(pk=group.pk).update(
        created_at=told_at, closed_at=told_at + timedelta(days=1) if life[-1] in CLOSED else None
    )
    alerts = Alert.objects.bulk_create(_alert(one, group) for one in changes)
    describe(groups=[group])
    _write_life(group, life, told_at)
    if len(life) > 1:
        _confirm(alerts[changes.index(first)], first, life[-1], builds)


def _evidence(*, eager: bool, confirmed: bool) -> list[dict[str, str]]:
    if eager:
        return [
            {
                "fact": "eager control",
                "says": "Eager moved as much as what is compiled.",
                "supports": "eager",
            }
        ]
    control = {
        "fact": "eager control",
        "says": "Eager, measured in the same processes, did not move.",
    }
    if not confirmed:
        return [control | {"supports": "unknown"}]
    code = (
        "The kernels differ between the two builds, in each of two cold compiles; the "
        "wrapper is the same."
    )
    return [
        {"fact": "generated code", "says": code, "supports": "compiler"},
        control | {"supports": "compiler"},
        {
            "fact": "environment",
            "says": "Driver, Triton and the model libraries are the same.",
            "supports": "compiler",
        },
    ]


def _alert(one: Found, group: AlertGroup) -> Alert:
    verdict, line = one.verdict, one.line
    metric = METRICS[one.series.metric]
    values = line.value[max(one.index - 40, 0) : one.seen_at + 1]
    decision = {
        "settings": asdict(_settings(metric.key)),
        "verdict": {**asdict(verdict), "index": one.index},
        "points": values[~np.isnan(values)].tolist(),
    }
    return Alert(
        group=group,
        series=one.series,
        kind=Kind.DRIFT if verdict.cause == "drift" else Kind.STEP,
        direction=one.direction,
        job_id=line.job[one.index],
        planned_at=one.at,
        seen_at=datetime.fromtimestamp(line.at_ms[one.seen_at] / 1000, UTC),
        base=group.base,
        new=group.new,
        effect=verdict.effect,
        low=verdict.effect_low,
        high=verdict.effect_high,
        unit=verdict.unit or "",
        false_alarm_share=1 - (verdict.sure or 0.0),
        detector_version=str(VERSION),
        decision=decision,
    )


def _write_life(group: AlertGroup, life: Sequence[AlertState], at: datetime) -> None:
    events = AlertEvent.objects.bulk_create(
        AlertEvent(
            group=group, action="state" if number else "opened", state=state, text=REMARKS[state]
        )
        for number, state in enumerate(life)
    )
    for number, event in enumerate(events):
        event.at = at + timedelta(hours=3 * number)  # auto_now_add has set it to now
        event.considered_at = event.at  # nobody is told of what is made up
    AlertEvent.objects.bulk_update(events, ["at", "considered_at"])


def _confirm(alert: Alert, found: Found, state: AlertState, builds: dict[str, TorchBuild]) -> None:
    """The confirmation with its runs and data: pairs around the two levels, or around one that did
    not reproduce.
    """
    running = state == AlertState.CONFIRMING
    done = {AlertState.NOT_REPRODUCED: "not_reproduced", AlertState.INCONCLUSIVE: "inconclusive"}
    alert.confirmation = "" if running else done.get(state, "confirmed")
    alert.save(update_fields=["confirmation"])
    rng = np.random.default_rng(alert.pk)
    order = [arm for _ in range(PAIRS) for arm in rng.permutation(["base", "new"])]
    confirmation = Confirmation.objects.create(
        group=alert.group,
        order=order,
        state=Confirmation.State.RUNNING if running else Confirmation.State.DONE,
    )
    confirmation.alerts.add(alert)
    share = 0 if state == AlertState.NOT_REPRODUCED else (alert.effect or 0) / 100
    before = found.line.value[: found.index]
    level = float(np.median(before[~np.isnan(before)]))
    for number, arm in enumerate(order[: PAIRS if running else None]):
        value = level * (1 + share * (arm == "new")) * float(np.exp(rng.normal(0, 0.006)))
        at = found.at + timedelta(hours=3, minutes=3 * number)
        build = builds[found.new if arm == "new" else found.base]
        run = _create_run(confirmation, found.series, arm, build, at)
        _write_process(run, found.series, value, at)
    if running:
        # What it waits for, or else it would be concluded, and people told of it
        waiting = _create_run(confirmation, found.series, "new", builds[found.new], None)
        _plan_process(waiting, found.series)


def _create_run(
    confirmation: Confirmation,
    series: Series,
    side: str,
    build: TorchBuild,
    at: datetime | None,
) -> Run:
    """One that ended then; None: one that waits."""
    run = Run.objects.create(
        label="Confirmation, generated",
        purpose=Purpose.CONFIRMATION,
        state=RunState.COMPLETED if at else RunState.PLANNED,
        machine=series.machine,
        track=series.track,
        build=build,
        confirmation=confirmation,
        request={"side": side},
        finished_at=at,
    )
    if at:
        Run.objects.filter(pk=run.pk).update(created_at=at)
    return run


def _plan_process(run: Run, series: Series) -> None:
    Job.objects.create(
        run=run,
        benchmark=series.benchmark,
        config=series.config,
        planned_at=timezone.now(),
    )


def _write_process(run: Run, series: Series, value: float, at: datetime) -> None:
    job = Job.objects.create(
        uuid=uuid.uuid4(),
        run=run,
        benchmark=series.benchmark,
        config=series.config,
        state=JobState.DONE,
        status=Status.PASS,
        planned_at=at,
        claimed_at=at,
        finished_at=at + timedelta(seconds=38),
    )
    Datum.objects.create(
        series=series,
        job=job,
        planned_at=at,
        build=run.build,
        purpose=Purpose.CONFIRMATION,
        status=Status.PASS,
        value=value,
        low=value * 0.997,
        high=value * 1.003,
        count=30,
    )
