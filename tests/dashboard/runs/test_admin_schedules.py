"""The form of a schedule: a time in words, and its own row in the scheduler's tables."""

import re
from datetime import time
from typing import Any

import pytest
from django.conf import settings
from django.test import Client
from django.urls import reverse
from django_celery_beat.models import CrontabSchedule, PeriodicTask

from dashboard.models import Run, Schedule, Track
from dashboard.runs.core.timing import Timing
from dashboard.runs.selectors.schedules import timing_of_row
from dashboard.runs.services.schedules import (
    TRIGGER,
    delete_schedule,
    ensure_nightly,
    save_schedule,
    trigger_now,
)
from tests.builders import site
from tests.builders.admin_pages import run_now_form

pytestmark = pytest.mark.django_db
ADD = reverse("admin:dashboard_schedule_add")
LIST = reverse("admin:dashboard_schedule_changelist")


@pytest.fixture(autouse=True)
def worker() -> None:
    site.worker()


def form(**fields: Any) -> dict[str, Any]:
    return {
        **run_now_form(),
        "name": "Mornings",
        "enabled": "on",
        "how_often": "daily",
        "at": "02:30",
        "weekdays": ["0", "1", "2", "3", "4"],
        "time_zone": "Europe/Berlin",
        "families": ["toy"],
        **fields,
    }


def page_text(response: Any) -> str:
    return re.sub(r"\s+", " ", response.text)


def added(client: Client, **fields: Any) -> Schedule:
    client.post(ADD, form(**fields))
    return Schedule.objects.get()


def change(client: Client, schedule: Schedule, **fields: Any) -> Any:
    address = reverse("admin:dashboard_schedule_change", args=[schedule.pk])
    return client.post(address, form(**fields), follow=True)


def nightly() -> Schedule:
    return ensure_nightly(machine=site.machine(), track=site.track())


def upkeep_at_half_past_two() -> CrontabSchedule:
    task = PeriodicTask.objects.get(name="Discover builds")
    assert task.crontab
    return task.crontab


def test_schedule_runs_at_the_time_in_its_own_fields(admin_client: Client) -> None:
    schedule = added(admin_client)
    weekdays = frozenset(range(5))
    timing = Timing("Europe/Berlin", at=time(2, 30), weekdays=weekdays)
    assert timing_of_row(schedule.crontab) == timing


def test_schedule_runs_every_few_hours(admin_client: Client) -> None:
    schedule = added(
        admin_client, how_often="hourly", every_hours="6", weekdays=list("0123456"), at=""
    )
    assert timing_of_row(schedule.crontab) == Timing("Europe/Berlin", every_hours=6)


def test_schedule_gets_its_beat_entry(admin_client: Client) -> None:
    schedule = added(admin_client)
    task = schedule.periodic_task
    assert task
    assert task.task == "dashboard.tasks.trigger_schedule"
    assert task.args == f"[{schedule.pk}]"
    assert task.crontab == schedule.crontab
    assert task.enabled


def test_change_writes_into_the_schedules_own_row(admin_client: Client) -> None:
    schedule = added(admin_client)
    row = schedule.crontab_id
    change(admin_client, schedule, at="04:15")
    schedule.refresh_from_db()
    assert schedule.crontab_id == row
    assert schedule.crontab.hour == "4"


def test_change_of_a_schedule_leaves_the_upkeep_alone(admin_client: Client) -> None:
    upkeep = upkeep_at_half_past_two()
    schedule = Schedule(
        name="Mornings",
        crontab=upkeep,
        machine=site.machine(),
        track=site.track(),
    )
    save_schedule(schedule=schedule)
    change(admin_client, schedule, at="04:15")
    upkeep.refresh_from_db()
    assert (upkeep.hour, upkeep.minute) == ("2", "30")
    schedule.refresh_from_db()
    assert schedule.crontab != upkeep


def test_schedules_at_the_same_time_have_rows_of_their_own(admin_client: Client) -> None:
    first = added(admin_client)
    admin_client.post(ADD, form(name="Second"))
    assert Schedule.objects.get(name="Second").crontab_id != first.crontab_id


def test_every_upkeep_task_has_its_own_row() -> None:
    rows = PeriodicTask.objects.exclude(crontab=None).values_list("crontab", flat=True)
    assert len(set(rows)) == len(rows)


def test_deleted_schedule_takes_its_beat_entry_and_row_along(admin_client: Client) -> None:
    schedule = nightly()
    row = schedule.crontab_id
    admin_client.post(
        reverse("admin:dashboard_schedule_delete", args=[schedule.pk]), {"post": "yes"}
    )
    assert not PeriodicTask.objects.filter(task=TRIGGER).exists()
    assert not CrontabSchedule.objects.filter(pk=row).exists()


def test_deleted_schedule_leaves_a_shared_row() -> None:
    upkeep = upkeep_at_half_past_two()
    schedule = Schedule(
        name="Mornings",
        crontab=upkeep,
        machine=site.machine(),
        track=site.track(),
    )
    save_schedule(schedule=schedule)
    delete_schedule(schedule=schedule)
    assert CrontabSchedule.objects.filter(pk=upkeep.pk).exists()


def test_form_neither_changes_nor_deletes_crontabs(admin_client: Client) -> None:
    nightly()
    page = admin_client.get(ADD).text
    assert "crontabschedule" not in page.partition('id="content-main"')[2]


def test_switching_a_schedule_off_switches_its_beat_entry_off(admin_client: Client) -> None:
    schedule = nightly()
    fields = form()
    del fields["enabled"]
    admin_client.post(reverse("admin:dashboard_schedule_change", args=[schedule.pk]), fields)
    assert not PeriodicTask.objects.get(task=TRIGGER).enabled


def test_form_shows_the_time_that_is_set(admin_client: Client) -> None:
    schedule = nightly()
    page = admin_client.get(reverse("admin:dashboard_schedule_change", args=[schedule.pk]))
    initial = page.context["adminform"].form.initial
    assert initial["at"] == time(3)
    assert initial["time_zone"] == settings.TIME_ZONE


def test_crontab_that_a_person_wrote_stays_as_it_is(admin_client: Client) -> None:
    row = CrontabSchedule.objects.create(hour="4", minute="0", day_of_month="1")
    schedule = Schedule(
        name="Monthly",
        crontab=row,
        machine=site.machine(),
        track=site.track(),
    )
    save_schedule(schedule=schedule)
    page = admin_client.get(reverse("admin:dashboard_schedule_change", args=[schedule.pk]))
    assert "As it is: At 04:00 AM, on day 1 of the month" in page_text(page)
    change(admin_client, schedule, how_often="as_it_is", name="Renamed")
    schedule.refresh_from_db()
    assert schedule.name == "Renamed"
    assert schedule.crontab.day_of_month == "1"


@pytest.mark.parametrize(
    ("wrong", "reason"),
    [
        ({"at": ""}, "Say at what time it runs, as 02:30."),
        ({"weekdays": []}, "Choose at least one day."),
        ({"time_zone": "Mars/Base"}, "Select a valid choice."),
        ({"how_often": "hourly", "every_hours": "5"}, "Select a valid choice."),
    ],
)
def test_unusable_time_is_refused_with_a_reason(
    admin_client: Client, wrong: dict[str, Any], reason: str
) -> None:
    assert reason in page_text(admin_client.post(ADD, form(**wrong)))
    assert not Schedule.objects.exists()


def test_next_run_is_said_when_it_is_saved(admin_client: Client) -> None:
    page = page_text(admin_client.post(ADD, form(), follow=True))
    assert re.search(
        r"Monday to Friday at 02:30, Europe/Berlin\. "
        r"Next: [A-Z]\w+day, \d+ \w+ \d+, 02:30 UTC\+[12], in ",
        page,
    )


def test_list_says_when_each_runs_next(admin_client: Client) -> None:
    nightly()
    assert "Every day at 03:00" in page_text(admin_client.get(LIST))


def test_preview_says_when_and_what(admin_client: Client) -> None:
    preview = page_text(admin_client.post(reverse("admin:schedule_preview"), form()))
    assert "Monday to Friday at 02:30, Europe/Berlin. Next: " in preview
    assert "Each time: 2 jobs, about 3 min of work." in preview
    assert not Schedule.objects.exists()


def test_preview_warns_of_a_track_without_a_build(admin_client: Client) -> None:
    track = Track.objects.create(key="nightly", kind=Track.Kind.NIGHTLY)
    address = reverse("admin:schedule_preview")
    warning = "Track nightly has no build yet: set NIGHTLY_INDEX_URL"
    assert warning in admin_client.post(address, form(track=track.pk)).text
    assert warning not in admin_client.post(address, form()).text


def test_preview_of_a_change_knows_the_schedule(admin_client: Client) -> None:
    schedule = added(admin_client)
    address = f"{reverse('admin:schedule_preview')}?schedule={schedule.pk}"
    assert "Next: " in admin_client.post(address, form()).text


def test_schedule_is_run_now_from_the_list(admin_client: Client) -> None:
    schedule = nightly()
    chosen = {"action": "run_now", "_selected_action": schedule.pk}
    page = admin_client.post(LIST, chosen, follow=True)
    run = Run.objects.get(schedule=schedule)
    assert run.created_by is not None
    assert f'href="{run.get_absolute_url()}"' in page.text


def test_schedule_is_run_now_from_its_page_with_what_the_form_says(admin_client: Client) -> None:
    schedule = added(admin_client)
    change(admin_client, schedule, dashboard_schedule_save_and_run_now="1", name="Renamed")
    assert Run.objects.get().label == "Renamed"


def test_schedule_that_cannot_run_now_says_why(admin_client: Client) -> None:
    schedule = nightly()
    trigger_now(schedule=schedule)
    chosen = {"action": "run_now", "_selected_action": schedule.pk}
    page = admin_client.post(LIST, chosen, follow=True)
    assert "of this schedule has not ended" in page.text
    assert Run.objects.count() == 1


def test_schedule_that_nobody_would_run_says_so(admin_client: Client) -> None:
    nightly()
    assert "No worker is alive on cpu-2c" in page_text(admin_client.get(LIST))
    site.living_worker("w2")
    assert "No worker is alive" not in page_text(admin_client.get(LIST))


def test_preview_warns_that_no_worker_is_alive(admin_client: Client) -> None:
    preview = admin_client.post(reverse("admin:schedule_preview"), form())
    assert "No worker is alive on cpu-2c: runs wait for one." in page_text(preview)
