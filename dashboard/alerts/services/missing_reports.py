"""Opens an alert for what stopped reporting, once each, and closes it by itself when it reports
again (selectors/missing_reports.py finds it).
"""

from collections.abc import Mapping
from datetime import datetime

from django.db import connection, transaction

from dashboard.alerts.selectors.missing_reports import MissingReport, find_missing_reports
from dashboard.alerts.services import triage
from dashboard.models import (
    AlertGroup,
    AlertState,
    Direction,
    EvidenceState,
    Kind,
    Severity,
)

FACT = "silence"
# Kinds of subjects: with these, nothing or much is missing
_HIGH = ("worker", "schedule", "pass_rate", "runs")


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

        over = [group for subject, group in groups.items() if subject not in missing]
        closed = sum(_end(group) for group in over)
    return len(opened), closed


def _reported_groups() -> Mapping[str, AlertGroup]:
    """Alerts of what has not reported since, by subject. A person may have closed one: it is not
    opened again while the same silence lasts.
    """
    groups = (
        AlertGroup.objects.select_for_update()
        .filter(kind=Kind.SILENCE)
        .exclude(evidence_state=EvidenceState.RECOVERED)
    )
    return {group.evidence[0]["subject"]: group for group in groups.order_by("pk")}


def _end(group: AlertGroup) -> bool:
    """Keep that it reports again, so that its next silence is another alert; whether the group was
    open, and is closed by that.
    """
    why = "It reports again."
    if group.is_open:
        triage.move(group=group, to=AlertState.RECOVERED, why=why)
        return True
    group.evidence_state = EvidenceState.RECOVERED
    group.save(update_fields=["evidence_state"])
    triage.record_event(group=group, text=why)
    return False


def _open_group(report: MissingReport) -> None:
    """A missing report is a fact of its own: nothing was measured, and nothing is confirmed."""
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
        evidence_state=EvidenceState.MISSING_REPORT,
        direction=Direction.NEUTRAL,
        machine=report.machine,
        track=report.track,
        severity=Severity.HIGH if kind in _HIGH else Severity.MEDIUM,
        evidence=[evidence],
    )
    triage.record_opened(group=group)
