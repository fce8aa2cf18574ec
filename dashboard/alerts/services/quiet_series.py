"""Due series that have nothing to raise or to end, judging aside, for many series at once.

Nearly all of what lands: those are judged together (detection.py). For any other one the services
of a single series decide. In doubt a series is not quiet: that costs time alone.
"""

from collections.abc import Collection, Iterable

from django.db.models import Exists, OuterRef, Q, QuerySet, Subquery

from dashboard.alerts.selectors.alerts import OF_OPEN_GROUP
from dashboard.alerts.services.first_failures import FAILURES
from dashboard.language.metrics import EAGER, STATUS_METRIC
from dashboard.models import Alert, Datum, InvalidPoint, Kind, Purpose, Series

Case = tuple[int, int]  # ids of benchmark and machine


def quiet(series: Iterable[Series]) -> set[int]:
    """Their ids. Three queries, whatever the number."""
    statuses, others = [], []
    for each in series:
        if each.metric == STATUS_METRIC:
            statuses.append(each)
        else:
            others.append(each.pk)
    return set(others) - _with_alert(others) | _quiet_statuses(statuses)


def _with_alert(series_ids: Collection[int]) -> set[int]:
    """Series whose alerts may end."""
    alerts = Alert.objects.filter(OF_OPEN_GROUP, series__in=series_ids, recovered_at=None)
    return set(alerts.values_list("series", flat=True))


def _quiet_statuses(statuses: Collection[Series]) -> set[int]:
    """Find series whose case has no alert and has not just failed; for eager, none of its cases."""
    if not statuses:
        return set()
    cases = {(each.benchmark_id, each.machine_id) for each in statuses}
    of_cases = Q(benchmark__in=[benchmark for benchmark, _ in cases]) & Q(
        machine__in=[machine for _, machine in cases]
    )
    alerts = Alert.objects.filter(
        kind=Kind.STATUS,
        recovered_at=None,
        series__in=Series.objects.filter(of_cases, metric=STATUS_METRIC).values("pk"),
    )
    loud = set(alerts.values_list("series__benchmark", "series__machine").distinct())

    newest = Subquery(_measured().values("status")[:1])
    relevant = {each.config_id for each in statuses}
    states = Series.objects.filter(of_cases, metric=STATUS_METRIC).annotate(newest=newest)
    if not any(each.config.name == EAGER for each in statuses):
        states = states.filter(config__in=relevant)
    failed: set[int] = set()
    failed_beside: set[Case] = set()
    for pk, benchmark, machine, status in states.values_list(
        "pk", "benchmark", "machine", "newest"
    ):
        if status in FAILURES:
            failed.add(pk)
            failed_beside.add((benchmark, machine))

    quiet_ids = set()
    for each in statuses:
        case = each.benchmark_id, each.machine_id
        explains_others = each.config.name == EAGER and case in failed_beside
        if case not in loud and each.pk not in failed and not explains_others:
            quiet_ids.add(each.pk)
    return quiet_ids


def _measured() -> QuerySet[Datum]:
    """Valid data of the outer query's series that we measured ourselves, newest first."""
    invalid = InvalidPoint.objects.filter(series=OuterRef("series"), job=OuterRef("job"))
    data = Datum.objects.filter(~Exists(invalid), series=OuterRef("pk"))
    return data.exclude(purpose=Purpose.IMPORT).order_by("-planned_at")
