"""Missing reports: what should have reported and did not raises one alert; it closes by itself."""

from datetime import UTC, datetime, time, timedelta

import pytest
from django.utils import timezone

from dashboard.alerts.services import missing_reports, triage
from dashboard.models import AlertGroup, AlertState, JobState, Run, RunState, Schedule, Worker
from dashboard.runs.core.timing import Timing
from dashboard.runs.services.schedules import save_schedule
from tests.builders import alerting, site
from tests.builders.alerting import end_job, measure

pytestmark = pytest.mark.django_db
LONG_AGO = datetime(2020, 1, 1, tzinfo=UTC)


def check(**later: float) -> tuple[int, int]:
    """Look for missing reports so much later than now: how many alerts were opened and closed."""
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
    schedule = Schedule(name="Nightly", machine=site.machine(), track=site.track())
    at = time((timezone.now().hour + 12) % 24)
    save_schedule(schedule=schedule, timing=Timing("UTC", at=at))
    return schedule


def test_schedule_that_did_not_run_raises_one_alert(nightly: Schedule) -> None:
    assert check(hours=1) == (0, 0)
    assert check(days=1, hours=1) == (1, 0)
    assert check(days=1, hours=2) == (0, 0)
    group = AlertGroup.objects.get()
    assert group.kind == "silence"
    assert group.evidence_state == "missing_report"
    assert group.direction == "neutral"
    assert group.severity == "high"
    assert group.title == "Schedule Nightly did not run"


def test_a_schedule_that_ran_again_closes_by_itself(nightly: Schedule) -> None:
    check(days=1, hours=1)
    site.run(schedule=nightly, purpose="scheduled")
    assert check(minutes=1) == (0, 1)
    assert AlertGroup.objects.get().state == "recovered"


def test_disabled_schedule_is_not_missing(nightly: Schedule) -> None:
    nightly.enabled = False
    nightly.save()
    assert check(days=3) == (0, 0)


def test_reports_missed_while_the_site_was_down_raise_no_alert(nightly: Schedule) -> None:
    now = timezone.now() + timedelta(days=3)
    up_since = now - timedelta(minutes=1)
    assert missing_reports.detect_missing_reports(now=now, up_since=up_since) == (0, 0)


def test_vanished_worker_raises_an_alert_and_its_return_closes_it() -> None:
    worker = seen_worker()
    assert check(hours=1) == (1, 0)
    assert AlertGroup.objects.get().title == "Worker w1 vanished"
    worker.last_seen = timezone.now() + timedelta(hours=1)
    worker.save()
    assert check(hours=1) == (0, 1)


def test_paused_worker_is_not_missing() -> None:
    worker = seen_worker()
    worker.paused = True
    worker.save()
    assert check(hours=1) == (0, 0)


def test_missing_report_closed_by_a_person_raises_no_second_alert() -> None:
    seen_worker()
    check(hours=1)
    triage.move(group=AlertGroup.objects.get(), to=AlertState.INVALID)
    assert check(hours=2) == (0, 0)


def test_next_silence_after_one_that_a_person_closed_raises_an_alert() -> None:
    worker = seen_worker()
    check(hours=1)
    closed = AlertGroup.objects.get()
    triage.move(group=closed, to=AlertState.INVALID)
    worker.last_seen = timezone.now() + timedelta(hours=1)
    worker.save()
    assert check(hours=1) == (0, 0)
    assert AlertGroup.objects.get().state == "invalid"
    assert closed.events.latest("pk").text == "It reports again."
    assert check(hours=2) == (1, 0)


def test_case_that_stopped_reporting_raises_one_alert() -> None:
    site.worker()
    both = {"latency_ms": 1.0, "peak_memory_gb": 2.0, "compile_peak_memory_gb": 1.0}
    for hour in range(3):
        measure(both, hour)
    for hour in range(3, 6):
        measure({"latency_ms": 1.0}, hour)
    assert check() == (1, 0)
    group = AlertGroup.objects.get()
    assert group.title == f"{site.MLP} in inductor stopped reporting"
    assert "did not bring: peak memory" in group.evidence[0]["says"]


def test_runs_that_did_not_ask_for_a_case_do_not_count() -> None:
    site.worker()
    for hour in range(4):
        measure({"latency_ms": 1.0}, hour)
    for hour in range(4, 8):
        measure({"latency_ms": 1.0}, hour, config="eager")
    assert check() == (0, 0)


def test_case_that_fails_is_not_a_missing_report() -> None:
    site.worker()
    for hour in range(3):
        measure({"latency_ms": 1.0, "peak_memory_gb": 2.0}, hour)
    for hour in range(3, 6):
        measure({}, hour, status="fail_accuracy")
    assert check() == (0, 0)


def test_runs_without_any_result_raise_one_alert() -> None:
    site.worker()
    for _ in range(3):
        scheduled_run(failing=0)
    for _ in range(3):
        run = site.run(configs=["eager", "inductor", "regional"], purpose="scheduled")
        run.jobs.update(state=JobState.LOST)
        Run.objects.filter(pk=run.pk).update(state=RunState.FAILED)
    assert check() == (1, 0)
    title = "Scheduled runs of cpu-2c, track local, bring no results"
    assert AlertGroup.objects.get().title == title


def test_series_that_reports_raises_no_alert() -> None:
    site.worker()
    for hour in range(6):
        measure({"latency_ms": 1.0}, hour)
    assert check() == (0, 0)


def test_pass_rate_that_fell_raises_an_alert() -> None:
    site.worker()
    for _ in range(5):
        scheduled_run(failing=0)
    scheduled_run(failing=2)
    assert check() == (1, 0)
    group = AlertGroup.objects.get()
    assert group.title == "Pass rate fell to 33% on cpu-2c, track local"
    expected = "33% of 3 cases passed in the newest scheduled run; 100% is usual there."
    assert group.evidence[0]["says"] == expected


def test_one_failing_case_is_not_a_fall_of_the_pass_rate() -> None:
    site.worker()
    for failing in (0, 0, 0, 0, 0, 1):
        scheduled_run(failing=failing)
    assert check() == (0, 0)


def scheduled_run(failing: int) -> None:
    """A scheduled run of the MLP in three configs, of which the first ones fail."""
    run = site.run(configs=["eager", "inductor", "regional"], purpose="scheduled")
    for place, job in enumerate(run.jobs.order_by("position")):
        end_job(job, None if place < failing else {})


def test_groups_of_other_kinds_are_left_alone() -> None:
    alerting.group()
    assert check() == (0, 0)
