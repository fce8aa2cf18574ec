"""Until when people have to answer an alert, and when they are reminded of it. Pure."""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Literal

Reminder = Literal["", "due", "late"]
MOST_AHEAD = timedelta(days=1)
_SHARE_AHEAD = 4  # of a short time, a quarter


def due_at(since: datetime, severity: str, days: Mapping[str, float]) -> datetime | None:
    """None where the severity has no limit. since: when it became people's turn."""
    limit = days[severity]
    return since + timedelta(days=limit) if limit else None


def reminder(since: datetime, due: datetime, now: datetime) -> Reminder:
    """Late once the due date has passed; due a day before it, or when three quarters of a shorter
    time are over.
    """
    if now >= due:
        return "late"
    ahead = min(MOST_AHEAD, (due - since) / _SHARE_AHEAD)
    return "due" if now >= due - ahead else ""
