"""Gathers the facts around a change, for `dashboard.alerts.core.attribution`: reads only, when an
alert is raised or its group settled.

A window is the newest data before the change and the first ones from it on, at most `WINDOW` on a
side. On the alert's own track only data with the settings of the two builds count: other variants
are other code.
"""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import isfinite

from dashboard.alerts.core.change_facts import ChangeFacts, ObservedChange
from dashboard.alerts.selectors import documents
from dashboard.alerts.selectors.pairs import data_of_case
from dashboard.alerts.selectors.variants import differ_in_inductor_alone, settings_of_variant
from dashboard.detection import compare_levels
from dashboard.language.metrics import EAGER, METRICS, STATUS_METRIC, is_grain
from dashboard.language.wording import metric_of
from dashboard.models import (
    Alert,
    AlertGroup,
    Cause,
    Confirmation,
    Datum,
    Series,
    TorchBuild,
    Track,
)
from dashboard.results.core.series_points import settings_of
from dashboard.results.selectors import history

WINDOW = 20
CONTROLS = {  # metric -> the metric of the same jobs that only eager moves
    "latency_ms": "eager_latency_ms",
    "device_ms": "eager_device_ms",
    "cold_start_s": "eager_latency_ms",
    "peak_memory_gb": "eager_peak_memory_gb",
    "drift": "eager_drift",
    "drift_gradients": "eager_drift_gradients",
}
PHASES = ("compile_dynamo_s", "compile_aot_s", "compile_inductor_s", "compile_triton_s")
CANARY_FAMILY = "machine"


def facts_of(alert: Alert) -> ChangeFacts:
    """All facts around the change of `alert` (with series, benchmark, config, builds and group)."""
    series = alert.series
    confirmation = Confirmation.objects.filter(alerts=alert.pk).first() if alert.pk else None
    only_new = confirmation is not None and confirmation.only_new
    results = documents.results_around(alert)
    window = _window_of(alert)
    elsewhere = window and replace(window, builds=())
    change = _own_change(alert)
    phases = {metric: METRICS[metric].label for metric in PHASES}
    return ChangeFacts(
        metric=series.metric,
        unit=metric_of(series.metric).unit,
        change=change,
        eager=series.config.name == EAGER,
        same_build=alert.base_id == alert.new_id,
        confirmed=alert.confirmation == "confirmed" and not only_new,
        control=_control(alert, window, confirmation),
        pinned=_pinned(alert, elsewhere),
        canary=_canary(alert, elsewhere),
        alike=_alike(alert, window, change),
        pressure=(
            documents.disturbed_share(results.before),
            documents.disturbed_share(results.after),
        ),
        code=documents.code_fingerprints(results),
        differences=documents.environment_changes(results),
        suite=documents.suite_versions(results),
        phases=_changes_of_case(alert, window, phases),
        eager_passes=_eager_passes(alert),
        stage=documents.blamed_stage(results),
        variant=settings_of_variant(alert),
        inductor_alone=differ_in_inductor_alone(alert),
    )


def _own_change(alert: Alert) -> ObservedChange | None:
    effect, low, high, unit = alert.size
    if effect is None or unit != "percent":
        return None
    low = effect if low is None else low
    high = effect if high is None else high
    return ObservedChange(metric_of(alert.series.metric).label, effect, low, high)


# --- Other series at the same moment


@dataclass(frozen=True, slots=True)
class _Window:
    """start: when the data before the change begin. change: the first datum of the new level.
    builds: those whose settings the data have; empty: any.
    """

    start: datetime
    change: datetime
    builds: tuple[TorchBuild, ...]


_Sides = tuple[list[float], list[float]]  # the values before a moment, and after it


def _window_of(alert: Alert) -> _Window | None:
    """None where the series has no data before the change."""
    builds = documents.builds_of(alert)
    data = history.with_settings_of(history.judged([alert.series_id]), builds)
    before = data.filter(planned_at__lt=alert.planned_at)
    newest = before.order_by("-planned_at").values_list("planned_at", flat=True)[:WINDOW]
    moments = list(newest)
    if not moments:
        return None
    return _Window(moments[-1], alert.planned_at, builds)


def _sides(series_ids: Iterable[int], window: _Window | None) -> dict[int, _Sides]:
    """Values of series around a change, by series; those without both sides are left out."""
    if window is None:
        return {}
    data = history.with_settings_of(history.judged(series_ids), window.builds)
    data = data.filter(planned_at__gte=window.start, value__isnull=False)
    before: dict[int, list[float]] = defaultdict(list)
    after: dict[int, list[float]] = defaultdict(list)
    for series, at, value in data.values_list("series_id", "planned_at", "value"):
        assert value is not None
        if at < window.change:
            before[series].append(value)
        else:
            after[series].append(value)
    return {
        series: (values[-WINDOW:], after[series][:WINDOW])
        for series, values in before.items()
        if series in after
    }


def observed_change(
    name: str, metric: str, before: Sequence[float], after: Sequence[float]
) -> ObservedChange | None:
    """Estimate how a level changed between two sets of values.

    None where that cannot be said in percent with an interval.
    """
    if not before or not after or metric == STATUS_METRIC:
        return None
    if is_grain(metric_of(metric), min(*before, *after)):
        return None
    difference = compare_levels(before, after, settings_of(metric_of(metric)))
    is_bounded = isfinite(difference.low) and isfinite(difference.high)
    if difference.unit != "percent" or not is_bounded:
        return None
    return ObservedChange(name, difference.effect, difference.low, difference.high)


def _changes_of(
    window: _Window | None, others: Iterable[Series], names: Mapping[int, str]
) -> list[ObservedChange]:
    """List how these series changed at the same moment. names: by series, as people call them."""
    metrics = {series.pk: series.metric for series in others}
    changes = []
    for key, sides in _sides(metrics, window).items():
        change = observed_change(names[key], metrics[key], *sides)
        if change is not None:
            changes.append(change)
    return changes


def same_case(series: Series) -> dict[str, int]:
    return {
        "benchmark_id": series.benchmark_id,
        "config_id": series.config_id,
        "machine_id": series.machine_id,
        "track_id": series.track_id,
    }


def _changes_of_case(
    alert: Alert, window: _Window | None, labels: Mapping[str, str]
) -> list[ObservedChange]:
    """List how other metrics (key -> label) of the same case changed."""
    others = list(Series.objects.filter(**same_case(alert.series), metric__in=labels))
    return _changes_of(window, others, {series.pk: labels[series.metric] for series in others})


def _control(
    alert: Alert, window: _Window | None, confirmation: Confirmation | None
) -> ObservedChange | None:
    """The eager control of the same jobs; of the confirmation's, where there is one: they were
    measured in turn.
    """
    metric = CONTROLS.get(alert.series.metric)
    if metric is None or alert.series.config.name == EAGER:
        return None
    label = METRICS[metric].label
    if metric == "eager_latency_ms":
        label = "The eager control"
    if confirmation is not None and not confirmation.only_new:
        values = _confirmed_values(alert, confirmation, metric)
        change = observed_change(label, metric, values[alert.base_id], values[alert.new_id])
        if change is not None:
            return change
    changes = _changes_of_case(alert, window, {metric: label})
    return changes[0] if changes else None


def _confirmed_values(
    alert: Alert, confirmation: Confirmation, metric: str
) -> dict[int | None, list[float]]:
    """Read what the confirmation measured of a metric of the case, by build."""
    data = data_of_case(confirmation, alert, metric)
    values: dict[int | None, list[float]] = defaultdict(list)
    for build, value in data.values_list("build_id", "value"):
        assert value is not None
        values[build].append(value)
    return values


def _pinned(alert: Alert, window: _Window | None) -> list[ObservedChange]:
    """The same case on the pinned tracks of the machine."""
    case = same_case(alert.series)
    own_track = case.pop("track_id")
    pinned = Series.objects.filter(
        **case, metric=alert.series.metric, track__kind=Track.Kind.PINNED
    )
    others = list(pinned.exclude(track=own_track).select_related("track"))
    names = {series.pk: f"Pinned track {series.track}" for series in others}
    return _changes_of(window, others, names)


def _canary(alert: Alert, window: _Window | None) -> list[ObservedChange]:
    """List the changes of what the machine itself can do, on a build that stayed: pinned tracks,
    and this track where its build stayed.
    """
    canaries = Series.objects.filter(
        machine=alert.series.machine_id,
        benchmark__family=CANARY_FAMILY,
        metric="latency_ms",
        config__name=EAGER,
    ).exclude(benchmark=alert.series.benchmark_id)
    if alert.base_id != alert.new_id:
        canaries = canaries.filter(track__kind=Track.Kind.PINNED)
    others = list(canaries.select_related("benchmark"))
    names = {series.pk: f"Canary {series.benchmark.name}" for series in others}
    return _changes_of(window, others, names)


def _alike(alert: Alert, window: _Window | None, own: ObservedChange | None) -> tuple[int, int]:
    """Count the other benchmarks whose eager steps moved alike, and all those compared."""
    if own is None or metric_of(alert.series.metric).unit not in ("ms", "s"):
        return 0, 0
    others = Series.objects.filter(
        machine=alert.series.machine_id,
        track=alert.series.track_id,
        metric="latency_ms",
        config__name=EAGER,
    ).exclude(benchmark=alert.series.benchmark_id)
    moved = comparable = 0
    for sides in _sides(others.values_list("pk", flat=True), window).values():
        change = observed_change("eager", "latency_ms", *sides)
        if change is not None:
            comparable += 1
            moved += change.as_much_as(own)
    return moved, comparable


# --- What is known of the two builds


def _eager_passes(alert: Alert) -> bool | None:
    """Test whether the newest eager job of the benchmark on the new build passed; None where there
    is none.

    Also one that was planned before the alert's own job: a run plans eager first.
    """
    if alert.series.metric != STATUS_METRIC or alert.series.config.name == EAGER:
        return None
    eager = Datum.objects.filter(
        series__benchmark=alert.series.benchmark_id,
        series__machine=alert.series.machine_id,
        series__track=alert.series.track_id,
        series__config__name=EAGER,
        series__metric=STATUS_METRIC,
        build=alert.new_id,
    )
    newest = eager.order_by("-planned_at").values_list("status", flat=True).first()
    if newest is None:
        return None
    return newest == "pass"


def cause_in_words(group: AlertGroup) -> str:
    """The likely cause; of the compiler with other settings, those: they are all that differs."""
    if group.cause == Cause.COMPILER and differ_in_inductor_alone(group):
        return f"compiler setting: {settings_of_variant(group) or 'the default again'}"
    return str(group.get_cause_display())
