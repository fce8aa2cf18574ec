"""A schedule triggers a run by itself, or says why it did not."""

from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier

import pytest
from django.db import connection
from django.utils import timezone
from django_celery_beat.models import PeriodicTask
from django_celery_beat.schedulers import DatabaseScheduler

from dashboard.celery import app
from dashboard.models import Run, Schedule, Track
from dashboard.runs.services.partitions import existing_partitions
from dashboard.runs.services.schedules import ensure_nightly, ensure_system_tasks, run_schedule
from dashboard.tasks import create_partitions, trigger_schedule
from tests.builders import site

pytestmark = pytest.mark.django_db


def nightly() -> Schedule:
    site.worker()
    return ensure_nightly(machine=site.machine(), track=site.track())


def test_a_due_schedule_triggers_a_scheduled_run_on_its_tracks_build() -> None:
    schedule = nightly()
    trigger_schedule(schedule.pk)
    run = Run.objects.get()
    assert run.purpose == "scheduled"
    assert run.build.label == site.BUILD
    assert run.schedule == schedule
    assert run.jobs.count() == 4


def test_schedule_waits_for_its_last_run_and_says_so() -> None:
    schedule = nightly()
    run = run_schedule(schedule_id=schedule.pk)
    assert run
    Run.objects.update(created_at=timezone.now() - timedelta(hours=1))
    assert run_schedule(schedule_id=schedule.pk) is None
    schedule.refresh_from_db()
    assert schedule.problem.startswith(f"Run {run.pk} of this schedule has not ended")


@pytest.mark.django_db(transaction=True)
def test_two_schedulers_trigger_one_run_of_a_schedule_that_is_due_once() -> None:
    schedule, together = nightly(), Barrier(2)

    def trigger() -> Run | None:
        together.wait()
        try:
            return run_schedule(schedule_id=schedule.pk)
        finally:
            connection.close()

    with ThreadPoolExecutor(2) as schedulers:
        runs = [schedulers.submit(trigger) for _ in range(2)]
        triggered = [run.result() for run in runs]
    assert Run.objects.count() == 1
    assert triggered.count(None) == 1
    schedule.refresh_from_db()
    assert schedule.problem == ""


def test_a_schedule_on_a_track_without_a_build_says_so() -> None:
    schedule = nightly()
    Track.objects.update(build=None)
    run_schedule(schedule_id=schedule.pk)
    schedule.refresh_from_db()
    assert schedule.problem == "Track local has no build yet: set one in the admin."


def test_a_schedule_that_is_off_or_gone_triggers_nothing() -> None:
    schedule = nightly()
    Schedule.objects.update(enabled=False)
    assert run_schedule(schedule_id=schedule.pk) is None
    assert run_schedule(schedule_id=0) is None


def test_the_nightly_schedule_is_made_once_and_then_left_as_people_want_it() -> None:
    schedule = nightly()
    Schedule.objects.update(enabled=False, name="mine")
    assert ensure_nightly(machine=schedule.machine, track=schedule.track).name == "mine"
    assert Schedule.objects.count() == 1


def test_beat_finds_the_reaper_in_every_migrated_database() -> None:
    entries = DatabaseScheduler(app=app, lazy=True).all_as_schedule().values()
    assert "dashboard.tasks.reap" in {entry.task for entry in entries}


def test_what_a_person_changed_in_the_sites_own_entries_stays() -> None:
    PeriodicTask.objects.update(enabled=False)
    ensure_system_tasks()
    assert set(PeriodicTask.objects.values_list("enabled", flat=True)) == {False}


def test_every_task_that_beat_sends_exists() -> None:
    nightly()
    assert set(PeriodicTask.objects.values_list("task", flat=True)) <= set(app.tasks)


def test_task_creates_the_partitions_of_the_coming_months(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(timezone, "now", lambda: datetime(2033, 5, 5, tzinfo=UTC))
    create_partitions()
    assert {"dashboard_datum_2033_05", "dashboard_datum_2033_06"} <= set(existing_partitions())
