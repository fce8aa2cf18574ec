"""Due dates: an alert that waits for people has one by its severity.

It waits for them once its evidence is all there is: confirmed, inconclusive, or a missing report.
Before that it is the system's turn; what is closed, and what got better, is never due.
"""

from datetime import datetime

from django.conf import settings

from dashboard.alerts.core.due import due_at
from dashboard.models import AlertGroup, Direction, EvidenceState

AWAITS_PEOPLE = (
    EvidenceState.CONFIRMED,
    EvidenceState.INCONCLUSIVE,
    EvidenceState.MISSING_REPORT,
)
FIELDS = ("due_since", "due_at", "reminded")


def set_due(group: AlertGroup, now: datetime) -> None:
    """Bring the due date up to date with state and severity, from when it became people's turn.
    The caller saves FIELDS. A reminder is recorded again where the date has moved.
    """
    before = group.due_at
    awaits = group.is_open and group.evidence_state in AWAITS_PEOPLE
    if not awaits or group.direction == Direction.IMPROVEMENT:
        group.due_since = group.due_at = None
    else:
        group.due_since = group.due_since or now
        group.due_at = due_at(group.due_since, group.severity, settings.DUE_DAYS)
    if group.due_at != before:
        group.reminded = ""
