"""Ceilings of the machines themselves: the last canary of each, of whatever build."""

from dataclasses import dataclass

from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange, change, quiet
from dashboard.models import Datum, Series

CANARIES = ("matmul_ceiling_tflops", "bandwidth_ceiling_gb_s")


@dataclass(frozen=True, slots=True)
class Canary:
    """One ceiling of one machine, measured on one track. change: since the datum before."""

    series: Series
    metric: Metric
    last: Datum
    change: ValueChange | None


def last() -> list[Canary]:
    """Every ceiling that was measured, by machine. A query more than there are series."""
    order = ("machine__key", "benchmark__position", "benchmark__name", "metric", "track__key")
    measured = Series.objects.filter(metric__in=CANARIES, newest_value__isnull=False)
    canaries = []
    for series in measured.select_related("benchmark", "machine", "track").order_by(*order):
        metric = METRICS[series.metric]
        data = series.data.filter(value__isnull=False).order_by("-planned_at", "-job_id")[:2]
        newest, *before = data
        moved = change(metric, before[0].value, newest.value) if before else None
        canaries.append(Canary(series, metric, newest, quiet(moved, metric)))
    return canaries
