"""Reminders: an event once when an alert is nearly due, and once when it is late."""

from datetime import datetime

from django.db import transaction
from django.utils import timezone

from dashboard.alerts.core.due import MOST_AHEAD, reminder
from dashboard.alerts.selectors.alerts import OPEN
from dashboard.alerts.services.due_dates import AWAITS_PEOPLE, FIELDS, set_due
from dashboard.alerts.services.history import add_event, lock
from dashboard.language.moments import stamp
from dashboard.models import AlertGroup, Direction


def remind(*, now: datetime) -> int:
    """Record what has become due or late; how many."""
    date_undated(now=now)
    soon = AlertGroup.objects.filter(OPEN, due_at__lte=now + MOST_AHEAD).exclude(reminded="late")
    return sum(_remind(group, now) for group in soon.order_by("due_at"))


def date_undated(*, now: datetime) -> None:
    """Alerts from before there were due dates have all their time from now on."""
    waiting = AlertGroup.objects.filter(
        OPEN, due_since=None, evidence_state__in=AWAITS_PEOPLE
    ).exclude(direction=Direction.IMPROVEMENT)
    for group in waiting:
        with transaction.atomic():
            lock(group)
            set_due(group, now)
            group.save(update_fields=FIELDS)


def _remind(group: AlertGroup, now: datetime) -> bool:
    with transaction.atomic():
        lock(group)
        if group.due_at is None or group.due_since is None or not group.is_open:
            return False
        what = reminder(group.due_since, group.due_at, now)
        if not what or group.reminded in {what, "late"}:
            return False
        group.reminded = what
        group.save(update_fields=["reminded"])
        add_event(group, what, None, _sentence(group), people=[group.assignee_id])
        return True


def _sentence(group: AlertGroup) -> str:
    """ "by 27 Nov 2026, 09:00 UTC, assigned to nobody"."""
    assert group.due_at is not None  # it was due
    due = stamp(timezone.localtime(group.due_at))
    return f"by {due}, assigned to {group.assignee or 'nobody'}"
