"""Gathers the facts around a change, for `dashboard.alerts.core.attribution`: read only, when an alert is
raised or settled.

A window is the newest data before the change and the first ones from it on, at most `WINDOW` on a
side.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from math import isfinite

from dashboard.alerts.core.attribution import ChangeFacts, ObservedChange
from dashboard.alerts.selectors import documents
from dashboard.detection import compare_levels
from dashboard.language.metrics import EAGER, METRICS, STATUS_METRIC
from dashboard.models import Alert, Confirmation, Datum, Series, Track
from dashboard.results.core.series_points import settings_of
from dashboard.results.selectors import history

WINDOW = 20
CONTROLS = {  # metric -> the metric of the same jobs that only eager moves
    "latency_ms": "eager_latency_ms",
    "cold_start_s": "eager_latency_ms",
    "peak_memory_gb": "eager_peak_memory_gb",
    "drift": "eager_drift",
    "drift_gradients": "eager_drift_gradients",
}
PHASES = ("compile_dynamo_s", "compile_aot_s", "compile_inductor_s", "compile_triton_s")
CANARY_FAMILY = "machine"


@dataclass(frozen=True, slots=True)
class _Sides:
    """The values on either side of a moment."""

    before: list[float]
    after: list[float]


def facts_of(alert: Alert) -> ChangeFacts:
    """Everything known around the change of `alert` (with series, benchmark, config, builds and
    group).
    """
    series = alert.series
    jobs = documents.jobs_around(alert)
    found = documents.documents_of(jobs)
    confirmation = Confirmation.objects.filter(alerts=alert.pk).first() if alert.pk else None
    change = _change(alert)
    return ChangeFacts(
        metric=series.metric,
        unit=METRICS[series.metric].unit,
        change=change,
        eager=series.config.name == EAGER,
        same_build=alert.base_id == alert.new_id,
        confirmed=alert.confirmation == "confirmed"
        and not (confirmation and confirmation.only_new),
        control=_control(alert, confirmation),
        pinned=_pinned(alert),
        canary=_canary(alert),
        alike=_alike(alert, change),
        pressure=(documents.pressed(found, jobs.before), documents.pressed(found, jobs.after)),
        code=documents.code(found, jobs),
        differences=documents.differences(found, jobs),
        suite=documents.suite(found, jobs),
        phases=_moved_series(alert, {metric: METRICS[metric].label for metric in PHASES}),
        eager_passes=_eager_passes(alert),
        stage=documents.stage(found, jobs),
        variant=_variant(alert),
        inductor_alone=_inductor_alone(alert),
    )


def _change(alert: Alert) -> ObservedChange | None:
    if alert.effect is None or alert.unit != "percent":
        return None
    low, high = (alert.effect if end is None else end for end in (alert.low, alert.high))
    return ObservedChange(METRICS[alert.series.metric].label, alert.effect, low, high)


# --- Other series at the same place
# ------------------------------------------------------------------------


def _sides(series_ids: Iterable[int], alert: Alert) -> dict[int, _Sides]:
    """Values of series around the alert's change, by series; those without both sides are left
    out.
    """
    span = _span(alert)
    if span is None:
        return {}
    found = history.scheduled(series_ids).filter(planned_at__gte=span, value__isnull=False)
    sides: dict[int, _Sides] = defaultdict(lambda: _Sides([], []))
    for series, at, value in found.values_list("series_id", "planned_at", "value"):
        if value is None:
            continue
        (sides[series].before if at < alert.planned_at else sides[series].after).append(value)
    return {
        pk: _Sides(one.before[-WINDOW:], one.after[:WINDOW])
        for pk, one in sides.items()
        if one.before and one.after
    }


def _span(alert: Alert) -> datetime | None:
    """When the window before the change begins."""
    before = (
        history.scheduled([alert.series_id])
        .filter(planned_at__lt=alert.planned_at)
        .order_by("-planned_at")
    )
    moments = list(before.values_list("planned_at", flat=True)[:WINDOW])
    return moments[-1] if moments else None


def moved(
    name: str, metric: str, before: Sequence[float], after: Sequence[float], url: str = ""
) -> ObservedChange | None:
    """How a level changed between two sets of values; None where that cannot be told in percent
    with an interval.
    """
    if not before or not after or metric == STATUS_METRIC:
        return None
    found = compare_levels(before, after, settings_of(METRICS[metric]))
    if found.unit != "percent" or not (isfinite(found.low) and isfinite(found.high)):
        return None
    return ObservedChange(name, found.effect, found.low, found.high, url)


def _same_case(alert: Alert) -> dict[str, int]:
    series = alert.series
    return {
        f"{name}_id": getattr(series, f"{name}_id")
        for name in ("benchmark", "config", "machine", "track")
    }


def _moved_series(alert: Alert, names: Mapping[str, str]) -> list[ObservedChange]:
    """How other metrics (key -> name) of the same case moved."""
    found = {one.pk: one for one in Series.objects.filter(**_same_case(alert), metric__in=names)}
    sides = _sides(found, alert)
    told = [
        moved(names[found[pk].metric], found[pk].metric, one.before, one.after)
        for pk, one in sides.items()
    ]
    return [one for one in told if one is not None]


def _control(alert: Alert, confirmation: Confirmation | None) -> ObservedChange | None:
    """The eager control of the same jobs; of the confirmation's, where there is one: they were
    measured in turn.
    """
    metric = CONTROLS.get(alert.series.metric)
    if metric is None or alert.series.config.name == EAGER:
        return None
    name = "The eager control" if metric == "eager_latency_ms" else METRICS[metric].label
    if confirmation is not None and not confirmation.only_new:
        by_build = _confirmed_values(alert, confirmation, metric)
        told = moved(name, metric, by_build[alert.base_id], by_build[alert.new_id])
        if told is not None:
            return told
    return next(iter(_moved_series(alert, {metric: name})), None)


def _confirmed_values(
    alert: Alert, confirmation: Confirmation, metric: str
) -> dict[int | None, list[float]]:
    found = Datum.objects.filter(
        job__run__confirmation=confirmation,
        series__metric=metric,
        series__benchmark=alert.series.benchmark_id,
        series__config=alert.series.config_id,
        value__isnull=False,
    )
    by_build: dict[int | None, list[float]] = defaultdict(list)
    for build, value in found.values_list("build_id", "value"):
        if value is not None:
            by_build[build].append(value)
    return by_build


def _pinned(alert: Alert) -> list[ObservedChange]:
    """The same case on the pinned tracks of the machine."""
    same = {key: value for key, value in _same_case(alert).items() if key != "track_id"}
    found = Series.objects.filter(**same, metric=alert.series.metric, track__kind=Track.Kind.PINNED)
    found = found.exclude(track=alert.series.track_id).select_related("track")
    tracks = {one.pk: one.track for one in found}
    told = [
        moved(f"Pinned track {tracks[pk]}", alert.series.metric, one.before, one.after)
        for pk, one in _sides(tracks, alert).items()
    ]
    return [one for one in told if one is not None]


def _canary(alert: Alert) -> list[ObservedChange]:
    """What the machine itself can do, on a build that stayed: on this track where it did, on pinned
    ones always.
    """
    found = Series.objects.filter(
        machine=alert.series.machine_id,
        benchmark__family=CANARY_FAMILY,
        metric="latency_ms",
        config__name=EAGER,
    ).exclude(benchmark=alert.series.benchmark_id)
    if alert.base_id != alert.new_id:
        found = found.filter(track__kind=Track.Kind.PINNED)
    names = {one.pk: one.benchmark.name for one in found.select_related("benchmark")}
    told = [
        moved(f"Canary {names[pk]}", "latency_ms", *_both(one))
        for pk, one in _sides(names, alert).items()
    ]
    return [one for one in told if one is not None]


def _alike(alert: Alert, change: ObservedChange | None) -> tuple[int, int]:
    """How many of how many other benchmarks' eager steps moved alike."""
    if change is None or METRICS[alert.series.metric].unit not in ("ms", "s"):
        return 0, 0
    found = Series.objects.filter(
        machine=alert.series.machine_id,
        track=alert.series.track_id,
        metric="latency_ms",
        config__name=EAGER,
    ).exclude(benchmark=alert.series.benchmark_id)
    told = [
        moved("eager", "latency_ms", *_both(one))
        for one in _sides(found.values_list("pk", flat=True), alert).values()
    ]
    known = [one for one in told if one is not None]
    return sum(one.as_much_as(change) for one in known), len(known)


def _both(sides: _Sides) -> tuple[list[float], list[float]]:
    return sides.before, sides.after


def _eager_passes(alert: Alert) -> bool | None:
    """Whether the newest eager job of the benchmark on the new build passed; None where there is
    none.

    Also one that was planned before the alert's own job: a run plans eager first.
    """
    if alert.series.metric != STATUS_METRIC or alert.series.config.name == EAGER:
        return None
    same = {key: value for key, value in _same_case(alert).items() if key != "config_id"}
    found = Datum.objects.filter(
        **{f"series__{key}": value for key, value in same.items()},
        series__config__name=EAGER,
        series__metric=STATUS_METRIC,
        build=alert.new_id,
    )
    newest = found.order_by("-planned_at").values_list("status", flat=True).first()
    return None if newest is None else newest == "pass"


def _variant(alert: Alert) -> str:
    """What the new build sets and the base does not."""
    old, new = (build.variant if build else {} for build in (alert.base, alert.new))
    told = []
    for kind in ("inductor", "env"):
        before, after = old.get(kind) or {}, new.get(kind) or {}
        told += [
            f"{key} = {value}" for key, value in sorted(after.items()) if before.get(key) != value
        ]
    return ", ".join(told)


def _inductor_alone(alert: Alert) -> bool:
    """Whether the two builds are one torch with the same environment variables, and differ in
    settings of Inductor.
    """
    if alert.base is None or alert.new is None:
        return False
    old, new = (build.variant for build in (alert.base, alert.new))
    one_torch = (alert.base.base_id or alert.base_id) == (alert.new.base_id or alert.new_id)
    return (
        one_torch
        and old.get("env", {}) == new.get("env", {})
        and old.get("inductor") != new.get("inductor")
    )
