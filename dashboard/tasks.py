"""What the dashboard worker does in the background: ids in, a service called, no logic here."""

from datetime import UTC, datetime

import psutil
from django.utils import timezone

from dashboard.alerts.services import conclusions, confirmations, detection, missing_reports
from dashboard.catalog.services import builds
from dashboard.celery import app
from dashboard.comparisons.services import bisections
from dashboard.notifications.services import deliveries
from dashboard.results.services import retention
from dashboard.runs.services import dispatch, leases, partitions, schedules


@app.task
def reap() -> None:
    """Queue the jobs of silent workers again, and send what has no message out."""
    leases.reap()
    dispatch.reset_lost_dispatches()
    dispatch.dispatch()


@app.task
def detect() -> None:
    """Judge the series that have new data, and measure again what is suspected."""
    detection.detect_due()
    conclusions.advance_all(now=timezone.now())
    confirmations.start_due(now=timezone.now())


@app.task
def listen_for_silence() -> None:
    """Tell what should have reported and did not."""
    started = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    missing_reports.detect_missing_reports(now=timezone.now(), up_since=started)


@app.task
def advance_bisections() -> None:
    """Decide, narrow and measure on, where a search's last round has ended."""
    bisections.advance_all()


@app.task
def create_partitions() -> None:
    """Create the data table's coming months."""
    partitions.ensure_coming_partitions(now=timezone.now())


@app.task
def forget_old() -> None:
    """Delete raw samples and artifacts that have been kept long enough."""
    retention.delete_expired(now=timezone.now())


@app.task
def discover_builds() -> None:
    """Ask the package indexes for builds that a track follows."""
    builds.discover_followed()


@app.task
def trigger_schedule(schedule_id: int) -> None:
    """Trigger the run of a schedule that is due."""
    schedules.run_schedule(schedule_id=schedule_id)


@app.task
def tell() -> None:
    """Ask the rules for new events, make the digests that are due, and have what waits sent."""
    now = timezone.now()
    deliveries.enqueue_deliveries(now=now)
    deliveries.make_digests(now=now)
    for delivery in deliveries.due(now=now):
        send_delivery.apply_async((delivery,), expires=15)  # the next round asks again


@app.task
def send_delivery(delivery_id: int) -> None:
    """Send one message."""
    deliveries.send(delivery_id=delivery_id, now=timezone.now())
