"""Times of schedules: in words, as crontabs, and back."""

from datetime import UTC, datetime, time

import pytest
from django_celery_beat.models import CrontabSchedule

from dashboard.runs.core.timing import Timing, timing_of
from dashboard.runs.selectors.schedules import due_after, next_run

BERLIN = "Europe/Berlin"
WORKDAYS = frozenset(range(5))
AT = time(2, 30)


@pytest.mark.parametrize(
    ("timing", "words"),
    [
        (Timing(BERLIN, at=AT), "Every day at 02:30, Europe/Berlin"),
        (Timing(BERLIN, at=AT, weekdays=WORKDAYS), "Monday to Friday at 02:30, Europe/Berlin"),
        (Timing("UTC", at=AT, weekdays=frozenset({5, 6})), "Saturday and Sunday at 02:30, UTC"),
        (Timing("UTC", at=AT, weekdays=frozenset({2})), "Wednesday at 02:30, UTC"),
        (Timing("UTC", every_hours=6), "Every 6 hours from midnight, UTC"),
        (Timing("UTC", every_hours=1), "Every hour from midnight, UTC"),
    ],
)
def test_timing_is_a_plain_sentence(timing: Timing, words: str) -> None:
    assert str(timing) == words


@pytest.mark.parametrize(
    "timing",
    [
        Timing(BERLIN, at=AT),
        Timing(BERLIN, at=AT, weekdays=WORKDAYS),
        Timing("UTC", every_hours=1),
        Timing("UTC", every_hours=12, weekdays=frozenset({6})),
    ],
)
def test_timing_comes_back_from_its_crontab(timing: Timing) -> None:
    assert timing_of(timing.crontab, timing.zone) == timing


def test_weeks_of_a_crontab_begin_on_sunday() -> None:
    timing = Timing("UTC", at=AT, weekdays=frozenset({0, 6}))
    assert timing.crontab["day_of_week"] == "0,1"


@pytest.mark.parametrize(
    "field",
    [
        {"day_of_month": "1"},
        {"hour": "*/5"},
        {"minute": "*/15"},
        {"day_of_week": "mon"},
    ],
)
def test_crontab_of_another_kind_is_not_a_timing(field: dict[str, str]) -> None:
    assert timing_of({**Timing("UTC", at=AT).crontab, **field}, "UTC") is None


def test_next_run_is_by_the_clock_of_the_zone() -> None:
    noon = datetime(2026, 11, 23, 12, tzinfo=UTC)
    due = next_run(Timing("America/Los_Angeles", at=AT), noon)
    assert due == datetime(2026, 11, 24, 10, 30, tzinfo=UTC)


def test_next_run_skips_the_weekend() -> None:
    friday = datetime(2026, 11, 27, 12, tzinfo=UTC)
    due = next_run(Timing("UTC", at=AT, weekdays=WORKDAYS), friday)
    assert due == datetime(2026, 11, 30, 2, 30, tzinfo=UTC)


@pytest.mark.django_db
def test_stored_row_is_due_by_the_clock_of_its_zone() -> None:
    stored = CrontabSchedule.objects.create(hour="2", minute="30", timezone=BERLIN)
    row = CrontabSchedule.objects.get(pk=stored.pk)
    ran = datetime(2026, 7, 1, 0, 30, tzinfo=UTC)
    assert due_after(row, ran) == datetime(2026, 7, 2, 0, 30, tzinfo=UTC)
