"""Opens an alert for what stopped reporting, once each, and closes it by itself when it reports
again (selectors/missing_reports.py finds it).
"""

from collections.abc import Mapping
from datetime import datetime

from django.db import connection, transaction

from dashboard.alerts.selectors.missing_reports import MissingReport, find_missing_reports
from dashboard.alerts.services import triage
from dashboard.models import AlertGroup, AlertState, Kind, Severity

FACT = "silence"
# Kinds of subjects: with these, nothing or much is missing
_HIGH = ("worker", "schedule", "pass_rate")


def detect_missing_reports(*, now: datetime, up_since: datetime) -> tuple[int, int]:
    """Open what stopped reporting and close what reports again; how many of each.

    One call at a time.
    """
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [__name__])
        missing = {
            report.subject: report for report in find_missing_reports(now=now, up_since=up_since)
        }
        groups = _reported_groups()
        opened = [report for subject, report in missing.items() if subject not in groups]
        for report in opened:
            _open_group(report)

        closed = [
            group
            for subject, group in groups.items()
            if subject not in missing and _can_recover(group)
        ]
        for group in closed:
            triage.move(group=group, to=AlertState.RECOVERED, why="It reports again.")
    return len(opened), len(closed)


def _reported_groups() -> Mapping[str, AlertGroup]:
    """Alerts of what has not reported since, by subject; a person may have closed one: it is not
    opened again.
    """
    groups = (
        AlertGroup.objects.select_for_update()
        .filter(kind=Kind.SILENCE)
        .exclude(state=AlertState.RECOVERED)
    )
    return {group.evidence[0]["subject"]: group for group in groups.order_by("pk")}


def _can_recover(group: AlertGroup) -> bool:
    return AlertState.RECOVERED in triage.possible(group=group, person=False)


def _open_group(report: MissingReport) -> None:
    """A missing report is a fact, not a suspicion: it opens confirmed."""
    kind = report.subject.partition(":")[0]
    evidence = {
        "fact": FACT,
        "says": report.text,
        "supports": "",
        "url": "",
        "subject": report.subject,
    }
    group = AlertGroup.objects.create(
        title=report.title[:300],
        kind=Kind.SILENCE,
        state=AlertState.CONFIRMED,
        machine=report.machine,
        track=report.track,
        severity=Severity.HIGH if kind in _HIGH else Severity.MEDIUM,
        evidence=[evidence],
    )
    triage.record_opened(group=group)
