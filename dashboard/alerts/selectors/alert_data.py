"""The points behind one alert: its series, its eager control."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from math import inf
from typing import Any

import numpy as np

from dashboard.alerts.core.alert_charts import Step, sides
from dashboard.alerts.selectors.alerts import DECISION_IN_BRIEF, STANDING
from dashboard.alerts.selectors.facts import same_case
from dashboard.alerts.selectors.reversals import LaterChange, reversal_among
from dashboard.catalog.core.versions import variant_of
from dashboard.language.metrics import is_grain
from dashboard.language.wording import metric_of
from dashboard.models import (
    Alert,
    InvalidPoint,
    Series,
)
from dashboard.results.selectors.trend import TrendSeries
from dashboard.ui.axes import milliseconds
from dashboard.ui.charts import ChartLine

CHARTED_CONTROLS = {  # metric -> the metric of the same case that only eager moves
    "latency_ms": "eager_latency_ms",
    "device_ms": "eager_device_ms",
    "peak_memory_gb": "eager_peak_memory_gb",
    "drift": "eager_drift",
    "drift_gradients": "eager_drift_gradients",
}
_MOST_READ = 2000  # newest points of a series that are looked at
_MOST_BEFORE = 120  # points before the change that the chart shows


@dataclass(frozen=True, slots=True)
class AroundChange:
    """The points of an alert's series.

    line: None where nothing is stored (any more).
    reversal: the later change since which the series is on the other side of the level before this
        one: what rose is lower now than it had been. None where it is not.
    """

    line: ChartLine | None
    step: Step
    reversal: LaterChange | None = None

    @property
    def has_others(self) -> bool:
        """True where points are shown that are of neither of the two levels."""
        return self.line is not None and not np.logical_or(*sides(self.line, self.step)).all()

    @property
    def missing_level(self) -> str:
        """Name of the level of which no point is shown; empty where there are points of both."""
        if self.line is None:
            return ""
        before, after = sides(self.line, self.step)
        if before.any():
            return "" if after.any() else "new level"
        return "level before"

    def jobs_near(self, most: int) -> tuple[list[str], list[str]]:
        """At most so many jobs of either level, those nearest to the change first."""
        if self.line is None:
            return [], []
        before, after = (np.flatnonzero(side).tolist() for side in sides(self.line, self.step))
        old = [self.line.job[index] for index in before[-most:][::-1]]
        return old, [self.line.job[index] for index in after[:most]]


def around(alert: Alert) -> AroundChange:
    """The points around the change of ``alert``, invalid ones left out. Three queries."""
    others = _other_changes(alert)
    step = _step(alert, others)
    return AroundChange(line_around(alert.series, step), step, reversal_among(alert, others))


def control_around(alert: Alert, step: Step) -> ChartLine | None:
    """Return the chart's line of the eager control; None where there is none. Three queries."""
    series = _control_series(alert)
    line = line_around(series, step) if series else None
    if line is None or is_grain(metric_of(alert.series.metric), float(line.value.min(initial=inf))):
        return None
    return replace(line, name="eager control")


def step_of(alert: Alert) -> Step:
    """The change, and the changes of the series before and after it. One query."""
    return _step(alert, _other_changes(alert))


def _step(alert: Alert, others: Sequence[Alert]) -> Step:
    since, until = _neighbours(alert, others)
    variants = None
    if alert.base is not None and alert.new is not None:
        variants = variant_of(alert.base.label), variant_of(alert.new.label)
    return Step(
        milliseconds(alert.planned_at),
        alert.effect,
        alert.low,
        alert.high,
        alert.unit,
        until_ms=milliseconds(until) if until else None,
        since_ms=milliseconds(since) if since else None,
        variants=variants,
    )


def _other_changes(alert: Alert) -> list[Alert]:
    """The other changes of its series that stand, oldest first, in brief. One query."""
    others = Alert.objects.filter(STANDING, series=alert.series_id)
    others = others.exclude(planned_at=alert.planned_at).select_related("new")
    brief = others.only("group", "planned_at", "recovered_at", "new", "new__label")
    return list(brief.annotate(decision_in_brief=DECISION_IN_BRIEF).order_by("planned_at"))


def _neighbours(alert: Alert, others: Sequence[Alert]) -> tuple[datetime | None, datetime | None]:
    """Find when the series came to the level before, and when it left the one after; None: never.

    At a change before or after it, or at the end of one.
    """
    times = [other.planned_at for other in others]
    times += [other.recovered_at for other in others if other.recovered_at]
    before = [at for at in times if at < alert.planned_at]
    after = [at for at in times if at > alert.planned_at]
    if alert.recovered_at:
        after.append(alert.recovered_at)
    return max(before, default=None), min(after, default=None)


def _control_series(alert: Alert) -> Series | None:
    """The series of what only eager moves, in the same jobs. None where there is none, or the chart
    has no place for it. One query at most.
    """
    series = alert.series
    metric = CHARTED_CONTROLS.get(series.metric)
    if metric is None or series.config.name == "eager" or alert.unit != "percent":
        return None
    controls = Series.objects.filter(**same_case(series), metric=metric, count__gt=0)
    return controls.select_related("config").first()


def line_around(series: Series, step: Step) -> ChartLine | None:
    """The points of ``series`` before and after ``step``, invalid ones left out. Two queries."""
    lines = TrendSeries([series]).lines([series], newest=_MOST_READ)
    if not lines:
        return None
    line = lines[0]
    invalid = InvalidPoint.objects.filter(series=series).values_list("job_id", flat=True)
    invalid_jobs = [str(job) for job in invalid]
    remeasured = np.isin(line.purpose, ["confirmation", "bisection"])
    shown = ~remeasured & ~np.isin(line.job, invalid_jobs) & ~np.isnan(line.value)
    keep = np.flatnonzero(shown)
    before = int((line.at_ms[keep] < step.at_ms).sum())
    return part(line, keep[max(before - _MOST_BEFORE, 0) :])


def part(line: ChartLine, keep: np.ndarray[tuple[int], np.dtype[np.intp]]) -> ChartLine:
    """The data of ``line`` at the indices ``keep``."""
    columns: dict[str, Any] = {}
    for name in ("at_ms", "value", "low", "high"):
        columns[name] = getattr(line, name)[keep]
    for name in ("status", "purpose", "build", "job"):
        values = getattr(line, name)
        columns[name] = [values[index] for index in keep]
    return replace(line, **columns)
