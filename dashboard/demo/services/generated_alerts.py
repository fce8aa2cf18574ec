"""Alerts for the made-up history of services/generated.py: what the detector finds in it, in every
state of triage.

The changes are what dashboard/detection reports of it, point by point; states, causes,
confirmations and remarks are made up.
"""

import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from datetime import datetime, timedelta
from itertools import cycle

import numpy as np
from django.utils import timezone

from dashboard.alerts.services.descriptions import describe
from dashboard.demo.services.generated_changes import (
    GeneratedChange,
    detector_settings,
    judged_changes,
)
from dashboard.detection import VERSION
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
    grouped: dict[tuple[str, bool], list[GeneratedChange]] = defaultdict(list)
    for change in judged_changes(machine):
        grouped[change.new, change.eager].append(change)
    newest = sorted(grouped.values(), key=lambda changes: changes[0].at, reverse=True)[:MOST_GROUPS]
    lives = {worse: cycle(LIVES) for worse in (False, True)}  # apart, so that both have every state
    for changes in newest:
        worse = any(change.direction == Direction.REGRESSION for change in changes)
        _write_group(changes, next(lives[worse]), builds)
    return len(newest)


def _write_group(
    changes: Sequence[GeneratedChange], life: Sequence[AlertState], builds: dict[str, TorchBuild]
) -> None:
    first = max(changes, key=_weight)
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
    opened_at = first.at + timedelta(hours=2)
    AlertGroup.objects.filter(pk=group.pk).update(
        created_at=opened_at,
        closed_at=opened_at + timedelta(days=1) if life[-1] in CLOSED else None,
    )
    alerts = Alert.objects.bulk_create(_alert(change, group) for change in changes)
    describe(groups=[group])
    _write_life(group, life, opened_at)
    if len(life) > 1:
        _confirm(alerts[changes.index(first)], first, life[-1], builds)


def _weight(change: GeneratedChange) -> tuple[bool, float]:
    return change.direction == Direction.REGRESSION, abs(change.effect)


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


def _alert(change: GeneratedChange, group: AlertGroup) -> Alert:
    verdict = change.verdict
    decision = {
        "settings": asdict(detector_settings(change.series.metric)),
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


def _confirm(
    alert: Alert, change: GeneratedChange, state: AlertState, builds: dict[str, TorchBuild]
) -> None:
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
    before = change.line.value[: change.index]
    level = float(np.median(before[~np.isnan(before)]))
    for number, arm in enumerate(order[: PAIRS if running else None]):
        value = level * (1 + share * (arm == "new")) * float(np.exp(rng.normal(0, 0.006)))
        at = change.at + timedelta(hours=3, minutes=3 * number)
        build = builds[change.new if arm == "new" else change.base]
        run = _create_run(confirmation, change.series, arm, build, at)
        _write_process(run, change.series, value, at)
    if running:
        # What it waits for, or else it would be concluded, and people told of it
        waiting = _create_run(confirmation, change.series, "new", builds[change.new], None)
        _plan_process(waiting, change.series)


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
