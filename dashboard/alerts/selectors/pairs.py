"""Measurements of a confirmation so far: the values of each round, base next to new.

A round is one job of a case on each build. Of each case the first job on the base belongs to the
first one on the new build, and so on: what brought no value leaves its round incomplete. The first
round of each plan is a warm-up, marked in its runs; only of a status does it count.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Max, QuerySet

from dashboard.alerts.core.confirmation import Pair
from dashboard.detection import Settings, status_value
from dashboard.language.contracts import Document
from dashboard.language.metrics import STATUS_METRIC
from dashboard.language.wording import metric_of
from dashboard.models import Alert, Confirmation, Datum, Job, Series
from dashboard.results.core.level_sql import WARM_UP_POSITIONS
from dashboard.results.core.series_points import judged_value, settings_of
from dashboard.results.selectors import history

RECORDED = 20  # newest points before the change


@dataclass(frozen=True, slots=True)
class MeasuredPairs:
    """paired: (base, new) of each round that brought both.

    base, new: every value.
    recorded: the level before the change.
    """

    paired: list[Pair]
    base: list[float]
    new: list[float]
    recorded: list[float]


def settings_of_alert(alert: Alert) -> Settings:
    """Return the settings by which the alert's series is judged."""
    return settings_of(metric_of(alert.series.metric))


def planned_rounds(confirmation: Confirmation) -> int:
    """Count the rounds that have been planned of the case that has most of them."""
    jobs = Job.objects.filter(run__confirmation=confirmation).order_by()
    cases = jobs.values("run", "benchmark", "config").annotate(jobs=Count("pk"))
    most: int | None = cases.aggregate(most=Max("jobs"))["most"]
    return most or 0


def measured_pairs(confirmation: Confirmation, alert: Alert) -> MeasuredPairs:
    """Read what the jobs of the alert's case brought, by round, and the recorded level before."""
    base, new = _rounds(confirmation, alert)
    settings = settings_of_alert(alert)
    readings = history.readings(alert.series)
    before = [reading for reading in readings if reading.at < alert.planned_at]
    recorded = [judged_value(reading, settings) for reading in before[-RECORDED:]]
    return MeasuredPairs(_paired(base, new), _present(base), _present(new), _present(recorded))


def paired(confirmation: Confirmation, alert: Alert) -> list[Pair]:
    """(base, new) of each round that brought both. Two queries."""
    return _paired(*_rounds(confirmation, alert))


def _paired(base: Iterable[float | None], new: Iterable[float | None]) -> list[Pair]:
    pairs = []
    for base_value, new_value in zip(base, new, strict=False):
        if base_value is not None and new_value is not None:
            pairs.append((base_value, new_value))
    return pairs


def _rounds(
    confirmation: Confirmation, alert: Alert
) -> tuple[list[float | None], list[float | None]]:
    """Values of each round on base and on new; None where that does not count."""
    jobs = _jobs_of_case(confirmation, alert)
    columns = ("pk", "position", "run__request", "status")
    rows = list(jobs.order_by("position").values_list(*columns))
    values = _values(alert, {job: status for job, _, _, status in rows})
    base, new = list[float | None](), list[float | None]()
    for job, position, request, _ in rows:
        value = values.get(job)
        if alert.series.metric != STATUS_METRIC and is_warm_up(request, position):
            value = None
        (base if request["side"] == "base" else new).append(value)
    return base, new


def data_of_case(confirmation: Confirmation, alert: Alert, metric: str) -> QuerySet[Datum]:
    """Select what the jobs of the alert's case brought of a metric. Two queries, and then its own.

    Its jobs and series are looked up first. In one query with their tables, Postgres may go through
    all data for each job of the site, which takes half a minute: while it counts no rows yet, as
    after it looked at tables that were just being filled.
    """
    case = {
        "benchmark": alert.series.benchmark_id,
        "config": alert.series.config_id,
        "machine": alert.series.machine_id,
    }
    jobs = _jobs_of_case(confirmation, alert).values_list("pk", flat=True)
    series = Series.objects.filter(**case, metric=metric).values_list("pk", flat=True)
    return Datum.objects.filter(series__in=list(series), job__in=list(jobs), value__isnull=False)


def _jobs_of_case(confirmation: Confirmation, alert: Alert) -> QuerySet[Job]:
    return Job.objects.filter(
        run__confirmation=confirmation,
        benchmark=alert.series.benchmark_id,
        config=alert.series.config_id,
    )


def _present(values: list[float | None]) -> list[float]:
    return [value for value in values if value is not None]


def is_warm_up(request: Document, position: int) -> bool:
    """Test whether the job at this position of a run with this request is a warm-up."""
    return position in request.get(WARM_UP_POSITIONS, ())


def _values(alert: Alert, statuses: Mapping[UUID, str]) -> Mapping[UUID, float]:
    """Map each job to what it brought of the alert's metric; statuses: empty where it has not
    ended.
    """
    if alert.series.metric == STATUS_METRIC:
        return {job: status_value(status) for job, status in statuses.items() if status}
    data = Datum.objects.filter(
        job__in=list(statuses), series__metric=alert.series.metric, value__isnull=False
    )
    return {job: value for job, value in data.values_list("job_id", "value") if value is not None}
