"""Alerts for the made-up history of generated.py, in every state of triage.

The change points are what dashboard/detection really finds in it; states, causes, confirmations and
remarks are made up.
"""

import math
import uuid
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import cycle
from typing import Any

import numpy as np

from dashboard.alerts.services.descriptions import describe
from dashboard.detection import VERSION, ChangePoint, Point, Settings, find_change_points
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
    Job,
    JobState,
    Kind,
    Purpose,
    Run,
    RunState,
    Series,
    Status,
    TorchBuild,
)
from dashboard.results.selectors.trend import TrendSeries
from dashboard.ui.charts import ChartLine

JUDGED = ("latency_ms", "cold_start_s", "peak_memory_gb")
MOST_SERIES = 600  # a larger history is for speed, not for more alerts
MOST_GROUPS = 24
PAIRS = 6
# The states that a group has gone through; the newest group first
LIVES: tuple[tuple[AlertState, ...], ...] = (
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.CONFIRMED),
    (AlertState.SUSPECTED,),
    (AlertState.SUSPECTED, AlertState.CONFIRMING),
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.CONFIRMED, AlertState.ACKNOWLEDGED),
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.CONFIRMED),
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.NOT_REPRODUCED),
    (
        AlertState.SUSPECTED,
        AlertState.CONFIRMING,
        AlertState.CONFIRMED,
        AlertState.ACKNOWLEDGED,
        AlertState.FIXED,
    ),
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.INCONCLUSIVE),
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.CONFIRMED, AlertState.RECOVERED),
    (AlertState.SUSPECTED, AlertState.CONFIRMING, AlertState.CONFIRMED, AlertState.INVALID),
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
class SeriesChange:
    """A change of one series, and the line that it was found in."""

    series: Series
    line: ChartLine
    point: ChangePoint

    @property
    def at(self) -> datetime:
        return datetime.fromtimestamp(self.line.at_ms[self.point.index] / 1000, UTC)

    @property
    def eager(self) -> bool:
        return self.series.config.name == "eager"

    @property
    def base(self) -> str:
        return self.line.build[max(self.point.index - 1, 0)]

    @property
    def new(self) -> str:
        return self.line.build[self.point.index]

    @property
    def direction(self) -> Direction:
        worse = (self.point.effect > 0) == METRICS[self.series.metric].lower_is_better
        return Direction.REGRESSION if worse else Direction.IMPROVEMENT


def generate_alerts(*, machine: str) -> int:
    """Run detection on the history of ``machine``, and write groups of alerts; how many.

    1. The detector looks for changes in each series.
    2. The changes at one build, in eager or in compiled configs, make one group.
    3. Groups get a life, newest first.
    """
    used = TorchBuild.objects.filter(runs__machine__key=machine).distinct()
    builds = {build.label: build for build in used}
    grouped: dict[tuple[str, bool], list[SeriesChange]] = defaultdict(list)
    for change in _detect(machine):
        grouped[change.new, change.eager].append(change)
    newest = sorted(grouped.values(), key=lambda changes: changes[0].at, reverse=True)[:MOST_GROUPS]
    # Separate cycles, so that both directions have every state
    lives = {worse: cycle(LIVES) for worse in (False, True)}
    for changes in newest:
        worse = any(change.direction == Direction.REGRESSION for change in changes)
        _write_group(changes, next(lives[worse]), builds)
    return len(newest)


def _detect(machine: str) -> list[SeriesChange]:
    """Every change that the detector finds at a new build; the generated outliers are left out."""
    chosen = Series.objects.filter(machine__key=machine, metric__in=JUDGED, count__gt=0)
    related = chosen.select_related("benchmark", "config", "machine", "track")
    changes: list[SeriesChange] = []
    for series in related.order_by("pk")[:MOST_SERIES]:
        for line in TrendSeries([series]).lines([series]):
            changes += _changes_of(series, line)
    return [change for change in changes if change.base != change.new]


def _changes_of(series: Series, line: ChartLine) -> list[SeriesChange]:
    passed = np.flatnonzero(~np.isnan(line.value))
    points = [_point(line, int(index)) for index in passed]
    # Two changes that were refined to the same point are one
    by_index: dict[int, ChangePoint] = {}
    for change in find_change_points(points, _settings(series.metric)):
        by_index[change.index] = change
    return [SeriesChange(series, line, _in_line(change, passed)) for change in by_index.values()]


def _settings(metric: str) -> Settings:
    return Settings(METRICS[metric].threshold_percent, "continuous")


def _point(line: ChartLine, index: int) -> Point:
    value, low, high = (float(array[index]) for array in (line.value, line.low, line.high))
    return Point(value, _or_none(low), _or_none(high), index)


def _or_none(number: float) -> float | None:
    return None if math.isnan(number) else number


def _in_line(change: ChangePoint, passed: np.ndarray[Any, Any]) -> ChangePoint:
    """The change with its indices counted among all data of the line, failures included."""
    index, seen_at = int(passed[change.index]), int(passed[change.seen_at])
    return replace(change, index=index, seen_at=seen_at)


def _write_group(
    changes: Sequence[SeriesChange], life: Sequence[AlertState], builds: dict[str, TorchBuild]
) -> None:
    main = max(changes, key=_weight)
    is_confirmed = AlertState.CONFIRMED in life
    cause = Cause.COMPILER if is_confirmed else Cause.UNKNOWN
    group = AlertGroup.objects.create(
        state=life[-1],
        cause=Cause.EAGER if main.eager else cause,
        evidence=_evidence(eager=main.eager, confirmed=is_confirmed),
        machine=main.series.machine,
        track=main.series.track,
        base=builds[main.base],
        new=builds[main.new],
    )
    opened_at = main.at + timedelta(hours=2)
    closed_at = opened_at + timedelta(days=1) if life[-1] in CLOSED else None
    AlertGroup.objects.filter(pk=group.pk).update(created_at=opened_at, closed_at=closed_at)
    alerts = Alert.objects.bulk_create(_alert(change, group) for change in changes)
    describe(groups=[group])
    _write_life(group, life, opened_at)
    if len(life) > 1:
        _confirm(alerts[changes.index(main)], main, life[-1], builds)


def _weight(change: SeriesChange) -> tuple[bool, float]:
    """Regressions first, then the size."""
    return change.direction == Direction.REGRESSION, abs(change.point.effect)


def _evidence(*, eager: bool, confirmed: bool) -> list[dict[str, str]]:
    if eager:
        return [_fact("eager control", "Eager moved as much as what is compiled.", "eager")]
    control = "Eager, measured in the same processes, did not move."
    if not confirmed:
        return [_fact("eager control", control, "unknown")]
    code = (
        "The kernels differ between the two builds, in each of two cold compiles; "
        "the wrapper is the same."
    )
    environment = "Driver, Triton and the model libraries are the same."
    return [
        _fact("generated code", code, "compiler"),
        _fact("eager control", control, "compiler"),
        _fact("environment", environment, "compiler"),
    ]


def _fact(fact: str, says: str, supports: str) -> dict[str, str]:
    return {"fact": fact, "says": says, "supports": supports}


def _alert(series_change: SeriesChange, group: AlertGroup) -> Alert:
    change, line = series_change.point, series_change.line
    metric = METRICS[series_change.series.metric]
    values = line.value[max(change.index - 40, 0) : change.seen_at + 1]
    decision = {
        "settings": asdict(_settings(metric.key)),
        "verdict": asdict(change),
        "points": values[~np.isnan(values)].tolist(),
    }
    return Alert(
        group=group,
        series=series_change.series,
        kind=Kind.DRIFT if change.cause == "drift" else Kind.STEP,
        direction=series_change.direction,
        job_id=line.job[change.index],
        planned_at=series_change.at,
        seen_at=datetime.fromtimestamp(line.at_ms[change.seen_at] / 1000, UTC),
        base=group.base,
        new=group.new,
        effect=change.effect,
        low=change.effect_low,
        high=change.effect_high,
        unit=change.unit,
        false_alarm_share=1 - change.sure,
        detector_version=str(VERSION),
        decision=decision,
    )


def _write_life(group: AlertGroup, life: Sequence[AlertState], at: datetime) -> None:
    events = AlertEvent.objects.bulk_create(
        AlertEvent(group=group, action="state", state=state, text=REMARKS[state]) for state in life
    )
    events[0].action = "opened"
    for number, event in enumerate(events):
        event.at = at + timedelta(hours=3 * number)  # auto_now_add has set it to now
        event.considered_at = event.at  # nobody is notified of made-up alerts
    AlertEvent.objects.bulk_update(events, ["action", "at", "considered_at"])


def _confirm(
    alert: Alert, change: SeriesChange, state: AlertState, builds: dict[str, TorchBuild]
) -> None:
    """The confirmation with its runs and data: pairs at both levels, or at one (not reproduced)."""
    running = state == AlertState.CONFIRMING
    done = {AlertState.NOT_REPRODUCED: "not_reproduced", AlertState.INCONCLUSIVE: "inconclusive"}
    alert.confirmation = "" if running else done.get(state, "confirmed")
    alert.save(update_fields=["confirmation"])
    rng = np.random.default_rng(alert.pk)
    order: list[str] = []
    for _ in range(PAIRS):
        order += rng.permutation(["base", "new"]).tolist()
    confirmation = Confirmation.objects.create(
        group=alert.group,
        order=order,
        state=Confirmation.State.RUNNING if running else Confirmation.State.DONE,
    )
    confirmation.alerts.add(alert)
    before = change.line.value[: change.point.index]
    level = float(np.median(before[~np.isnan(before)]))
    effect = 0.0 if state == AlertState.NOT_REPRODUCED else (alert.effect or 0) / 100
    levels = {"base": level, "new": level * (1 + effect)}
    arms = {"base": builds[change.base], "new": builds[change.new]}
    measured = order[:PAIRS] if running else order
    for number, arm in enumerate(measured):
        value = levels[arm] * float(np.exp(rng.normal(0, 0.006)))
        at = change.at + timedelta(hours=3, minutes=3 * number)
        _write_process(confirmation, change.series, arms[arm], value, at)


def _write_process(
    confirmation: Confirmation, series: Series, build: TorchBuild, value: float, at: datetime
) -> None:
    run = Run.objects.create(
        label="Confirmation, generated",
        purpose=Purpose.CONFIRMATION,
        state=RunState.COMPLETED,
        machine=series.machine,
        track=series.track,
        build=build,
        confirmation=confirmation,
        finished_at=at,
    )
    Run.objects.filter(pk=run.pk).update(created_at=at)
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
        build=build,
        purpose=Purpose.CONFIRMATION,
        status=Status.PASS,
        value=value,
        low=value * 0.997,
        high=value * 1.003,
        count=30,
    )
