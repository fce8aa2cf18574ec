"""Times of schedules: in words, and the moment that comes next."""

from datetime import datetime
from zoneinfo import ZoneInfo

from django_celery_beat.models import CrontabSchedule

from dashboard.runs.core.timing import Timing, timing_of


def timing_of_row(row: CrontabSchedule) -> Timing | None:
    """The timing of a beat row; None for one that only a crontab can express."""
    names = ("minute", "hour", "day_of_week", "day_of_month", "month_of_year")
    return timing_of({name: getattr(row, name) for name in names}, str(row.timezone))


def in_words(row: CrontabSchedule) -> str:
    return str(timing_of_row(row) or row.human_readable)


def due_after(row: CrontabSchedule, moment: datetime) -> datetime:
    """The first time after `moment` at which it is due, in the row's own time zone."""
    due: datetime = row.due_start_time(moment, row.timezone)
    return due


def next_run(timing: Timing, now: datetime) -> datetime:
    """Find when a schedule of this timing runs first."""
    return due_after(CrontabSchedule(**timing.crontab, timezone=ZoneInfo(timing.zone)), now)
