"""How right the detector was on this site: false alerts and misses by month and metric. Reads only.

An alert counts in the month of the point at which the detector was sure, a missed change in the
month in which its bisection ended.
"""

from dataclasses import dataclass
from datetime import UTC, date, datetime

from django.db.models import Count, Exists, OuterRef, Q
from django.db.models.functions import TruncMonth

from dashboard.alerts.core.rates import Rates
from dashboard.alerts.selectors.evidence import ALERTING
from dashboard.language.metrics import Metric
from dashboard.language.wording import metric_of
from dashboard.models import (
    Alert,
    Bisection,
    Datum,
    EvidenceState,
    Kind,
    Purpose,
    WorkflowState,
)

MONTHS = 12
_SAID_TO_BE_REAL = (WorkflowState.FIXED, WorkflowState.WONTFIX)
_Key = tuple[date, str]  # month, metric


@dataclass(frozen=True, slots=True)
class Month:
    """rows: by metric, most alerts first; those without an alert and without a miss are only in
    `total`.
    """

    first: date
    total: Rates
    rows: list[tuple[Metric, Rates]]


def by_month(now: datetime) -> list[Month]:
    """The newest months with alerts or misses, newest first. Three queries."""
    since = _months_before(now, MONTHS - 1)
    rates: dict[_Key, Rates] = {}
    _count_alerts(rates, since)
    _count_missed(rates, since)
    months: dict[date, Month] = {}
    for month, _ in rates:
        months.setdefault(month, Month(month, Rates(), []))
    if months:
        _count_points(rates, since)
    for (month, metric), counts in rates.items():
        if month not in months:
            continue
        months[month].total.add(counts)
        if counts.raised or counts.missed:
            months[month].rows.append((metric_of(metric), counts))
    for each in months.values():
        each.rows.sort(key=lambda row: (-row[1].raised, row[0].label))
    return sorted(months.values(), key=lambda each: each.first, reverse=True)


def _months_before(now: datetime, months: int) -> datetime:
    """The first moment of the month so many before this one."""
    number = 12 * now.year + now.month - 1 - months
    return datetime(number // 12, number % 12 + 1, 1, tzinfo=UTC)


def _count_alerts(rates: dict[_Key, Rates], since: datetime) -> None:
    """Those that people answered, by their answer; the others by their own confirmation."""
    measured_here = Alert.objects.filter(group__from_imports=False)
    alerts = measured_here.filter(seen_at__gte=since).exclude(group__kind=Kind.SILENCE)
    columns = (
        "month",
        "series__metric",
        "confirmation",
        "group__workflow_state",
    )
    counted = alerts.order_by().annotate(month=TruncMonth("seen_at", tzinfo=UTC)).values(*columns)
    for row in counted.annotate(number=Count("pk")):
        key = row["month"].date(), row["series__metric"]
        of_month = rates.setdefault(key, Rates())
        number, answer = row["number"], row["group__workflow_state"]
        of_month.raised += number
        if answer == WorkflowState.INVALID:
            of_month.invalid += number
        elif row["confirmation"] == EvidenceState.NOT_REPRODUCED:
            of_month.not_reproduced += number
        elif row["confirmation"] == EvidenceState.CONFIRMED or answer in _SAID_TO_BE_REAL:
            of_month.right += number


def _count_missed(rates: dict[_Key, Rates], since: datetime) -> None:
    """Changes that a bisection found, and that no alert had reported when it was started."""
    own_series = Alert.objects.filter(
        series__benchmark=OuterRef("benchmark"),
        series__config=OuterRef("config"),
        series__machine=OuterRef("machine"),
        series__metric=OuterRef("metric"),
        group__created_at__lte=OuterRef("created_at"),
    )
    same_build = Q(new=OuterRef("high")) | Q(base=OuterRef("base"), new=OuterRef("new"))
    bisections = Bisection.objects.filter(state=Bisection.State.FOUND, finished_at__gte=since)
    missed = bisections.exclude(Exists(own_series.filter(same_build))).order_by()
    months = missed.annotate(month=TruncMonth("finished_at", tzinfo=UTC)).values("month", "metric")
    for row in months.annotate(number=Count("pk")):
        rates.setdefault((row["month"].date(), row["metric"]), Rates()).missed += row["number"]


def _count_points(rates: dict[_Key, Rates], since: datetime) -> None:
    """Scheduled data of the metrics that raise alerts."""
    data = Datum.objects.filter(
        planned_at__gte=since,
        purpose=Purpose.SCHEDULED,
        value__isnull=False,
        series__metric__in=ALERTING,
    )
    months = data.order_by().annotate(month=TruncMonth("planned_at", tzinfo=UTC))
    counted = months.values("month", "series__metric").annotate(number=Count("*"))
    for row in counted:
        key = row["month"].date(), row["series__metric"]
        rates.setdefault(key, Rates()).points += row["number"]
