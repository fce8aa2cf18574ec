"""What the dashboard worker does in the background: ids in, a service called, no logic here."""

from django.utils import timezone

from dashboard.celery import app
from dashboard.services import detecting, dispatch, leases, partitions, schedules


@app.task
def reap() -> None:
    """Queue the jobs of silent workers again, and send what has no message out."""
    leases.reap()
    dispatch.recall_forgotten()
    dispatch.dispatch()


@app.task
def detect() -> None:
    """Judge the series that have new data."""
    detecting.detect_due()


@app.task
def create_partitions() -> None:
    """Create the data table's coming months."""
    partitions.ensure_coming_partitions(now=timezone.now())


@app.task
def trigger_schedule(schedule_id: int) -> None:
    """Trigger the run of a schedule that is due."""
    schedules.run_schedule(schedule_id=schedule_id)
