"""The points behind one alert: its series, its eager control, and the processes that confirmed
it.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from dashboard.alerts.core.alert_charts import Process, Step
from dashboard.models import Alert, Confirmation, Datum, InvalidPoint, Series
from dashboard.results.selectors.trend import TrendSeries
from dashboard.ui.charts import ChartLine

CONTROLS = {  # metric -> the metric of the same case that only eager moves
    "latency_ms": "eager_latency_ms",
    "peak_memory_gb": "eager_peak_memory_gb",
    "drift": "eager_drift",
    "drift_gradients": "eager_drift_gradients",
}
_MOST_READ = 2000  # newest points of a series that are looked at
_MOST_BEFORE = 120  # points before the change that the chart shows


@dataclass(frozen=True, slots=True)
class AroundChange:
    """What the chart of an alert shows; None where nothing is stored (any more)."""

    line: ChartLine | None
    control: ChartLine | None
    step: Step


def step_of(alert: Alert) -> Step:
    before = alert.levels[0] if alert.levels else None
    return Step(
        int(alert.planned_at.timestamp() * 1000),
        alert.effect,
        alert.low,
        alert.high,
        alert.unit,
        before,
    )


def around(alert: Alert) -> AroundChange:
    """The points around the change of ``alert``, invalid ones left out. Three queries."""
    series, step = alert.series, step_of(alert)
    line = _line(series, step)
    found = control_of(series)
    control = _line(found, step) if found else None
    return AroundChange(line, replace(control, name="eager control") if control else None, step)


def control_of(series: Series) -> Series | None:
    """The series of what only eager moves, in the same jobs; None where the metric has none."""
    metric = CONTROLS.get(series.metric)
    if metric is None or series.config.name == "eager":
        return None
    same = {
        name: getattr(series, f"{name}_id") for name in ("benchmark", "config", "machine", "track")
    }
    return Series.objects.select_related("config").filter(metric=metric, **same).first()


def _line(series: Series, step: Step) -> ChartLine | None:
    lines = TrendSeries([series]).lines([series], newest=_MOST_READ)
    if not lines:
        return None
    invalid = set(InvalidPoint.objects.filter(series=series).values_list("job_id", flat=True))
    line, marked = lines[0], {str(job) for job in invalid}
    scheduled = np.array([purpose not in {"confirmation", "bisection"} for purpose in line.purpose])
    valid = np.array([job not in marked for job in line.job])
    keep = np.flatnonzero(scheduled & valid & ~np.isnan(line.value))
    return part(line, keep[max(int((line.at_ms[keep] < step.at_ms).sum()) - _MOST_BEFORE, 0) :])


def part(line: ChartLine, keep: np.ndarray[tuple[int], np.dtype[np.intp]]) -> ChartLine:
    """The data of ``line`` at the indices ``keep``."""
    arrays: dict[str, Any] = {
        name: getattr(line, name)[keep] for name in ("at_ms", "value", "low", "high")
    }
    names = ("status", "purpose", "build", "job")
    words: dict[str, Any] = {name: [getattr(line, name)[index] for index in keep] for name in names}
    return replace(line, **arrays, **words)


def processes(confirmation: Confirmation, alert: Alert) -> list[Process]:
    """What each process of the confirmation measured of the alert's case, in the order planned. One
    query.
    """
    found = Datum.objects.filter(
        series__benchmark=alert.series.benchmark_id,
        series__config=alert.series.config_id,
        series__machine=alert.series.machine_id,
        series__metric=alert.series.metric,
        job__run__confirmation=confirmation,
        value__isnull=False,
    )
    rows = found.order_by("planned_at", "job_id").values_list(
        "build_id", "build__label", "value", "job_id"
    )
    return [
        Process(place, "new" if build == alert.new_id else "base", label, value, str(job))
        for place, (build, label, value, job) in enumerate(rows, start=1)
        if value is not None
    ]
