"""What the machines themselves can do: the newest canary of each, from the rollup."""

from dataclasses import dataclass

from dashboard.language.metrics import METRICS, Metric
from dashboard.language.wording import ValueChange, change, quiet
from dashboard.models import Series

CANARIES = ("matmul_ceiling_tflops", "bandwidth_ceiling_gb_s")


@dataclass(frozen=True, slots=True)
class Canary:
    """One ceiling of one machine, measured on one track. change: since the point before."""

    series: Series
    metric: Metric
    change: ValueChange | None


def newest() -> list[Canary]:
    """Every ceiling that was measured, by machine. One query."""
    order = ("machine__key", "benchmark__position", "benchmark__name", "metric", "track__key")
    measured = Series.objects.filter(metric__in=CANARIES, count__gt=0, last_value__isnull=False)
    related = measured.select_related("benchmark", "machine", "track")
    canaries = []
    for series in related.order_by(*order):
        metric = METRICS[series.metric]
        moved = change(metric, series.previous_value, series.last_value)
        canaries.append(Canary(series, metric, quiet(moved, metric)))
    return canaries
