"""A track stands at one build at any time; a schedule measures a build often enough and no more."""

from datetime import date, datetime

import pytest
from django.utils import timezone

from dashboard.catalog.core.pins import newest_set
from dashboard.models import Job, JobState, Requirements, Run, Schedule, TorchBuild, Track
from dashboard.runs.services.schedules import ensure_nightly, run_schedule
from dashboard.runs.services.tracks import NoBuild, resolve
from tests.builders import site

pytestmark = pytest.mark.django_db


def builds(*labels: str, **fields: object) -> None:
    for label in labels:
        TorchBuild.objects.create(label=label, version=label, **fields)


def track(kind: str, build: TorchBuild | None = None) -> Track:
    return Track.objects.create(key=kind, kind=kind, build=build)


def stands_at(followed: Track, now: datetime | None = None) -> str:
    return str(resolve(track=followed, now=now or timezone.now()))


def test_stable_stands_at_the_newest_release_by_version() -> None:
    builds("2.9.1", "2.15.0", "2.10.0")
    builds("2.16.0.dev20261120", channel="nightly")
    followed = track("stable")
    assert stands_at(followed) == "2.15.0"
    assert str(Track.objects.get().build) == "2.15.0"


def test_stable_moves_when_a_release_comes_out() -> None:
    builds("2.14.0", released_on=date(2026, 9, 1))
    builds("2.15.0", released_on=date(2026, 11, 1))
    followed = track("stable")
    assert (
        stands_at(followed, datetime(2026, 10, 1, tzinfo=timezone.get_default_timezone()))
        == "2.14.0"
    )
    assert stands_at(followed) == "2.15.0"


def test_installable_build_of_a_version_is_followed() -> None:
    builds("2.15.0+cpu", adopted=True)
    builds("2.15.0")
    builds("2.15.0~one-1234", base=TorchBuild.objects.get(label="2.15.0"))
    assert stands_at(track("stable")) == "2.15.0"


def test_nightly_stands_at_the_newest_nightly() -> None:
    builds("2.16.0.dev20261119", "2.16.0.dev20261120", channel="nightly")
    assert stands_at(track("nightly")) == "2.16.0.dev20261120"


def test_a_pinned_track_never_moves() -> None:
    builds("2.11.0", "2.15.0")
    assert stands_at(track("pinned", TorchBuild.objects.get(label="2.11.0"))) == "2.11.0"


@pytest.mark.parametrize(
    ("kind", "message"),
    [
        ("stable", "manage.py add_build"),
        ("nightly", "set NIGHTLY_INDEX_URL"),
        ("pinned", "choose the build that it is pinned to"),
        ("versions", "stands at none"),
    ],
)
def test_a_track_without_a_build_says_what_to_do(kind: str, message: str) -> None:
    with pytest.raises(NoBuild, match=message):
        stands_at(track(kind))


def schedule(kind: str, repeats: int) -> Schedule:
    site.worker()
    builds("2.11.0")
    made = ensure_nightly(
        machine=site.machine(), track=track(kind, TorchBuild.objects.get(label="2.11.0"))
    )
    Schedule.objects.update(repeats=repeats)
    return made


def trigger_and_finish(due: Schedule, state: JobState = JobState.DONE) -> Run | None:
    run = run_schedule(schedule_id=due.pk)
    Job.objects.update(state=state)
    Run.objects.update(state="completed")
    return run


def test_a_build_that_was_measured_enough_is_skipped_and_the_schedule_says_so() -> None:
    due = schedule("stable", repeats=2)
    assert [bool(trigger_and_finish(due)) for _ in range(3)] == [True, True, False]
    due.refresh_from_db()
    assert (
        due.problem
        == "2.11.0 was measured 2 times already, which is enough: it waits for a newer build."
    )


def test_a_newer_build_is_measured_again() -> None:
    due = schedule("stable", repeats=1)
    trigger_and_finish(due)
    builds("2.12.0")
    run = trigger_and_finish(due)
    assert run
    assert run.build.label == "2.12.0"


def test_a_pinned_track_is_measured_every_time() -> None:
    due = schedule("pinned", repeats=1)
    assert all(trigger_and_finish(due) for _ in range(3))


def test_runs_that_brought_no_result_do_not_count() -> None:
    due = schedule("stable", repeats=1)
    trigger_and_finish(due, JobState.FAILED)
    assert trigger_and_finish(due)


def pin_libraries(of: Run, **libraries: str) -> None:
    """As if a worker had made this environment for the run's jobs."""
    pinned = {**newest_set("2.11.0"), **libraries}
    row = Requirements.objects.create(
        build=of.build, libraries=pinned, platform="linux_x86_64-cp311-cpu", text="a==1"
    )
    of.jobs.update(requirements=row)


def test_after_a_change_of_pins_the_build_is_measured_under_both_sets() -> None:
    due = schedule("stable", repeats=0)
    first = trigger_and_finish(due)
    assert first
    pin_libraries(first, transformers="5.19.0")
    trigger_and_finish(due)
    bridging = Run.objects.get(purpose="confirmation")
    assert bridging.libraries["transformers"] == "5.19.0"
    assert bridging.jobs.count() == first.jobs.count()


def test_without_a_change_of_pins_nothing_is_measured_twice() -> None:
    due = schedule("stable", repeats=0)
    first = trigger_and_finish(due)
    assert first
    pin_libraries(first)
    trigger_and_finish(due)
    assert Run.objects.count() == 2
