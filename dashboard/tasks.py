"""What the dashboard worker does in the background: ids in, a service called, no logic here.

A task's stored name never changes: the scheduler's table and messages on their way contain it.
"""

from datetime import UTC, datetime

import psutil
from django.utils import timezone

from dashboard.alerts.services import (
    bisecting,
    collecting,
    conclusions,
    confirmations,
    detection,
    issue_states,
    missing_reports,
)
from dashboard.catalog.services import builds
from dashboard.celery import app
from dashboard.comparisons.services import bisections, candidates, comparisons
from dashboard.notifications.services import candidates as notified_candidates
from dashboard.notifications.services import deliveries
from dashboard.results.services import retention
from dashboard.runs.services import dispatch, leases, partitions, schedules


@app.task
def reap() -> None:
    """Requeue the jobs of silent workers, and dispatch queued jobs that have no message."""
    leases.reap()
    dispatch.reset_lost_dispatches()
    dispatch.dispatch()


@app.task
def detect() -> None:
    """Run detection on series with new data, have suspected changes measured again, and evidence of
    confirmed ones collected.
    """
    detection.detect_due()
    conclusions.advance_all(now=timezone.now())
    confirmations.start_due(now=timezone.now())
    collecting.start_due(now=timezone.now())


@app.task(name="dashboard.tasks.listen_for_silence")
def detect_missing_reports() -> None:
    """Open alerts for series that should have reported and did not."""
    started = datetime.fromtimestamp(psutil.Process().create_time(), UTC)
    missing_reports.detect_missing_reports(now=timezone.now(), up_since=started)


@app.task
def advance_bisections() -> None:
    """Decide, narrow and continue each bisection whose last round has ended; start those that
    confirmed alerts need.
    """
    bisections.advance_all()
    bisecting.record_ended()
    bisecting.start_due(now=timezone.now())


@app.task
def follow_issues() -> None:
    """Ask GitHub for the state of the issues that are linked to alerts, where there is a token."""
    issue_states.follow(now=timezone.now())


@app.task
def settle_comparisons() -> None:
    """Measure again what is suspected in each comparison whose runs have ended."""
    comparisons.settle_all()


@app.task
def follow_candidates() -> None:
    """Ask the test index for release candidates, and start the comparisons that are missing."""
    candidates.discover()
    candidates.start_due(now=timezone.now())


@app.task
def create_partitions() -> None:
    """Create the data table's partitions for the coming months."""
    partitions.ensure_coming_partitions(now=timezone.now())


@app.task(name="dashboard.tasks.forget_old")
def delete_old() -> None:
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


@app.task(name="dashboard.tasks.tell")
def notify() -> None:
    """Match new events against the rules, make the digests that are due, and send what waits."""
    now = timezone.now()
    deliveries.enqueue_deliveries(now=now)
    notified_candidates.enqueue_candidates(now=now)
    deliveries.make_digests(now=now)
    for delivery in deliveries.due(now=now):
        send_delivery.apply_async((delivery,), expires=15)  # the next round asks again


@app.task(time_limit=deliveries.SENDER_LIMIT_S)
def send_delivery(delivery_id: int) -> None:
    """Send one message. Each transport has a deadline of its own, long before the task's limit."""
    deliveries.send(delivery_id=delivery_id, now=timezone.now())
