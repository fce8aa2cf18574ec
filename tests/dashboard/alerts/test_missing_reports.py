"""What should have reported and did not is told once, and closes by itself."""

from datetime import UTC, datetime, timedelta

import pytest
from celery.schedules import crontab
from django.utils import timezone

from dashboard.alerts.services import missing_reports, triage
from dashboard.models import AlertGroup, AlertState, Schedule, Worker
from dashboard.runs.services.schedules import find_crontab, save_schedule
from tests.builders import alerting, site
from tests.builders.alerting import land, measure

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def look(**later: float) -> tuple[int, int]:
    """Listen for silence so much later than now."""
    return missing_reports.detect_missing_reports(
        now=timezone.now() + timedelta(**later), up_since=LONG_AGO
    )


def seen_worker() -> Worker:
    """A worker that has just been heard of."""
    worker = site.worker()
    worker.last_seen = timezone.now()
    worker.save()
    return worker


@pytest.fixture
def nightly() -> Schedule:
    """Due in about half a day, whenever this test runs."""
    due = find_crontab(crontab(hour=(timezone.now().hour + 12) % 24, minute=0))
    schedule = Schedule(name="Nightly", crontab=due, machine=site.machine(), track=site.track())
    save_schedule(schedule=schedule)
    return schedule


def test_a_schedule_that_did_not_run_is_told_once(nightly: Schedule) -> None:
    assert look(hours=1) == (0, 0)
    assert look(days=1, hours=1) == (1, 0)
    assert look(days=1, hours=2) == (0, 0)
    group = AlertGroup.objects.get()
    assert (group.kind, group.state, group.severity) == ("silence", "confirmed", "high")
    assert group.title == "Schedule Nightly did not run"


def test_a_schedule_that_ran_again_closes_by_itself(nightly: Schedule) -> None:
    look(days=1, hours=1)
    site.run(schedule=nightly, purpose="scheduled")
    assert look(minutes=1) == (0, 1)
    assert AlertGroup.objects.get().state == "recovered"


def test_a_schedule_that_is_off_is_not_silent(nightly: Schedule) -> None:
    nightly.enabled = False
    nightly.save()
    assert look(days=3) == (0, 0)


def test_what_a_site_that_was_down_could_not_hear_is_not_told(nightly: Schedule) -> None:
    now = timezone.now() + timedelta(days=3)
    assert missing_reports.detect_missing_reports(now=now, up_since=now - timedelta(minutes=1)) == (
        0,
        0,
    )


def test_a_worker_that_vanished_is_told_and_its_return_closes_it() -> None:
    worker = seen_worker()
    assert look(hours=1) == (1, 0)
    assert AlertGroup.objects.get().title == "Worker w1 vanished"
    worker.last_seen = timezone.now() + timedelta(hours=1)
    worker.save()
    assert look(hours=1) == (0, 1)


def test_a_paused_worker_may_be_silent() -> None:
    worker = seen_worker()
    worker.paused = True
    worker.save()
    assert look(hours=1) == (0, 0)


def test_a_silence_that_somebody_closed_is_not_told_again_before_it_spoke() -> None:
    seen_worker()
    look(hours=1)
    triage.move(group=AlertGroup.objects.get(), to=AlertState.INVALID)
    assert look(hours=2) == (0, 0)


def test_a_series_that_stopped_reporting_is_told_by_its_name() -> None:
    site.worker()
    for hour in range(3):
        measure({"latency_ms": 1.0, "peak_memory_gb": 2.0}, hour)
    for hour in range(3, 6):
        measure({"latency_ms": 1.0}, hour)
    assert look() == (1, 0)
    title = "Peak memory of mlp.smoke.inference.float32.static.b64 in inductor stopped reporting"
    assert AlertGroup.objects.get().title == title


def test_a_series_that_reports_is_not_silent() -> None:
    site.worker()
    for hour in range(6):
        measure({"latency_ms": 1.0}, hour)
    assert look() == (0, 0)


def test_a_pass_rate_that_fell_is_told() -> None:
    site.worker()
    for _ in range(5):
        scheduled_run(failing=0)
    scheduled_run(failing=2)
    assert look() == (1, 0)
    group = AlertGroup.objects.get()
    assert group.title == "Pass rate fell to 33 % on cpu-2c, track local"
    assert (
        group.evidence[0]["says"]
        == "33 % of 3 cases passed in the newest scheduled run; 100 % is usual there."
    )


def test_one_case_that_fails_is_no_fall_of_the_pass_rate() -> None:
    site.worker()
    for failing in (0, 0, 0, 0, 0, 1):
        scheduled_run(failing=failing)
    assert look() == (0, 0)


def scheduled_run(failing: int) -> None:
    """A scheduled run of the MLP in three configs, of which the first ones fail."""
    run = site.run(configs=["eager", "inductor", "regional"], purpose="scheduled")
    for place, job in enumerate(run.jobs.order_by("position")):
        land(job, None if place < failing else {})


def test_a_builder_makes_groups_of_other_kinds_that_are_left_alone() -> None:
    alerting.group()
    assert look() == (0, 0)
