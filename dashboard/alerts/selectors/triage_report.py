"""Builds the triage report, which page, mail, Markdown and command show."""

from collections import Counter
from collections.abc import Iterable
from datetime import datetime

from django.db.models import QuerySet
from django.utils import timezone

from dashboard.alerts.core.triage_report import MonthRates, ReportedAlert, TriageReport, Workload
from dashboard.alerts.selectors import live_rates
from dashboard.alerts.selectors.alerts import OPEN, RANK
from dashboard.models import AlertGroup, Direction

DAYS = 7
MOST_DAYS = 92
_MONTHS = 2  # of rates: this one and the one before
_DAY_S = 86_400


def build_report(start: datetime, end: datetime) -> TriageReport:
    """What happened from start to end, and what is open, late and assigned now. Six queries."""
    open_groups = list(_groups().filter(OPEN))
    opened = _groups().filter(created_at__gte=start, created_at__lte=end)
    closed = _groups().filter(closed_at__gte=start, closed_at__lte=end).exclude(OPEN)
    new = [group for group in open_groups if start <= group.created_at <= end]
    late = [group for group in open_groups if group.due_at and group.due_at <= end]
    late.sort(key=lambda group: (group.due_at, RANK[group.severity]))
    return TriageReport(
        start=timezone.localtime(start),
        end=timezone.localtime(end),
        open=len(open_groups),
        new=[_reported(group, end) for group in sorted(new, key=_worst_first)],
        gone=_by_state(opened.exclude(OPEN)),
        late=[_reported(group, end) for group in late],
        closed=_by_state(closed),
        people=_workloads(open_groups, end),
        months=[
            MonthRates(month.first, month.total) for month in live_rates.by_month(end)[:_MONTHS]
        ],
    )


def _groups() -> QuerySet[AlertGroup]:
    """Oldest first; nobody has to answer what got better, or what another system measured."""
    measured_here = AlertGroup.objects.filter(from_imports=False)
    groups = measured_here.exclude(direction=Direction.IMPROVEMENT)
    return groups.select_related("assignee").order_by("created_at", "pk")


def _worst_first(group: AlertGroup) -> tuple[int, datetime]:
    return RANK[group.severity], group.created_at


def _reported(group: AlertGroup, now: datetime) -> ReportedAlert:
    days_late = 0.0
    if group.due_at is not None and group.due_at <= now:
        days_late = (now - group.due_at).total_seconds() / _DAY_S
    return ReportedAlert(
        number=group.pk,
        path=group.get_absolute_url(),
        title=group.title,
        severity=group.severity,
        state=group.state,
        evidence_state=group.evidence_state,
        workflow_state=group.workflow_state,
        assignee=group.assignee.username if group.assignee else "",
        opened_at=timezone.localtime(group.created_at),
        due_at=timezone.localtime(group.due_at) if group.due_at else None,
        days_late=days_late,
    )


def _by_state(groups: Iterable[AlertGroup]) -> list[tuple[str, int]]:
    """The most frequent first."""
    return Counter(group.state for group in groups).most_common()


def _workloads(groups: Iterable[AlertGroup], now: datetime) -> list[Workload]:
    """Who has late ones first, nobody last. groups: the oldest first."""
    by_name: dict[str, list[AlertGroup]] = {}
    for group in groups:
        name = group.assignee.username if group.assignee else ""
        by_name.setdefault(name, []).append(group)
    loads = []
    for name, theirs in by_name.items():
        late = sum(group.due_at is not None and group.due_at <= now for group in theirs)
        oldest = timezone.localtime(theirs[0].created_at)
        loads.append(Workload(name, len(theirs), late, oldest))
    return sorted(loads, key=lambda load: (not load.assignee, -load.late, -load.open))
