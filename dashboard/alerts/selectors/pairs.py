"""What a confirmation has measured so far: the values of each round, base beside new.

A round is one job of a case on each build. Of each case the first job on the base belongs to the
first one on the new build, and so on: what brought no value leaves its round incomplete.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Max

from dashboard.alerts.core.confirmation import Pair
from dashboard.detection import Settings, status_value
from dashboard.language.metrics import METRICS, STATUS_METRIC
from dashboard.models import Alert, Confirmation, Datum, Job
from dashboard.results.core.series_points import judged_value, settings_of
from dashboard.results.selectors import history

RECORDED = 20  # newest points before the change


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """paired: (base, new) of each round that brought both. base, new: every value. recorded: the
    level before.
    """

    paired: list[Pair]
    base: list[float]
    new: list[float]
    recorded: list[float]


def settings_of_alert(alert: Alert) -> Settings:
    """How the alert's series is judged."""
    return settings_of(METRICS[alert.series.metric])


def rounds(confirmation: Confirmation) -> int:
    """How many rounds have been planned of the case that has most of them."""
    counts = (
        Job.objects.filter(run__confirmation=confirmation)
        .order_by()
        .values("run", "benchmark", "config")
    )
    found: int | None = counts.annotate(jobs=Count("pk")).aggregate(most=Max("jobs"))["most"]
    return found or 0


def of(confirmation: Confirmation, alert: Alert) -> MeasuredPairs:
    """What the jobs of the alert's case brought, by round, and the recorded level before the
    change.
    """
    jobs = Job.objects.filter(
        run__confirmation=confirmation,
        benchmark=alert.series.benchmark_id,
        config=alert.series.config_id,
    )
    rows = list(jobs.order_by("position").values_list("pk", "run__request__side", "status"))
    values = _statuses(rows) if alert.series.metric == STATUS_METRIC else _values(rows, alert)
    sides = {
        side: [values.get(job) for job, of_side, _ in rows if of_side == side]
        for side in ("base", "new")
    }
    paired = [
        (base, new)
        for base, new in zip(sides["base"], sides["new"], strict=False)
        if base is not None and new is not None
    ]
    base, new = ([value for value in sides[side] if value is not None] for side in ("base", "new"))
    return MeasuredPairs(paired, base, new, _recorded(alert))


def _statuses(rows: list[tuple[UUID, str, str]]) -> Mapping[UUID, float]:
    return {job: status_value(status) for job, _, status in rows if status}


def _values(rows: list[tuple[UUID, str, str]], alert: Alert) -> Mapping[UUID, float]:
    found = Datum.objects.filter(
        job__in=[job for job, *_ in rows], series__metric=alert.series.metric, value__isnull=False
    )
    return {job: value for job, value in found.values_list("job_id", "value") if value is not None}


def _recorded(alert: Alert) -> list[float]:
    settings = settings_of_alert(alert)
    before = [one for one in history.readings(alert.series) if one.at < alert.planned_at]
    return [
        value for one in before[-RECORDED:] if (value := judged_value(one, settings)) is not None
    ]
