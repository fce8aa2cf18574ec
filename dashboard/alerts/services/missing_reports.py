"""Tells what fell silent, once each, and closes it by itself when it speaks again
(selectors/silence.py finds it).
"""

from collections.abc import Mapping
from datetime import datetime

from django.db import connection, transaction

from dashboard.alerts.selectors import missing_reports
from dashboard.alerts.selectors.missing_reports import Silence
from dashboard.alerts.services import triage
from dashboard.models import AlertEvent, AlertGroup, AlertState, Kind, Severity

FACT = "silence"
# Kinds of subjects: with these, nothing or much is missing
_HIGH = ("worker", "schedule", "pass_rate")


def detect_missing_reports(*, now: datetime, up_since: datetime) -> tuple[int, int]:
    """Open what fell silent and close what speaks again; how many of each. One look at a time."""
    with transaction.atomic():
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_advisory_xact_lock(hashtext(%s))", [__name__])
        found = {one.subject: one for one in missing_reports.find(now=now, up_since=up_since)}
        told = _told()
        opened = [_open(one) for subject, one in found.items() if subject not in told]
        closed = [
            _close(group)
            for subject, group in told.items()
            if subject not in found and _is_open(group)
        ]
    return len(opened), len(closed)


def _told() -> Mapping[str, AlertGroup]:
    """What has been told and has not spoken since, by subject; a person may have closed it: it is
    not told again.
    """
    groups = (
        AlertGroup.objects.select_for_update()
        .filter(kind=Kind.SILENCE)
        .exclude(state=AlertState.RECOVERED)
    )
    return {group.evidence[0]["subject"]: group for group in groups.order_by("pk")}


def _is_open(group: AlertGroup) -> bool:
    return AlertState.RECOVERED in triage.possible(group=group, person=False)


def _open(one: Silence) -> AlertEvent:
    """Silence is a fact, not a suspicion: it opens confirmed."""
    kind = one.subject.partition(":")[0]
    group = AlertGroup.objects.create(
        title=one.title[:300],
        kind=Kind.SILENCE,
        state=AlertState.CONFIRMED,
        machine=one.machine,
        track=one.track,
        severity=Severity.HIGH if kind in _HIGH else Severity.MEDIUM,
        evidence=[
            {"fact": FACT, "says": one.text, "supports": "", "url": "", "subject": one.subject}
        ],
    )
    return triage.tell_opened(group=group)


def _close(group: AlertGroup) -> AlertEvent:
    return triage.move(group=group, to=AlertState.RECOVERED, why="It reports again.")
