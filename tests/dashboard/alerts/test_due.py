"""Due dates by severity, reminders once, hand-overs in the history, owners of families."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.exceptions import ImproperlyConfigured
from django.test import Client
from django.utils import timezone

from dashboard.alerts.core.due import due_at, reminder
from dashboard.alerts.services import assignments, triage
from dashboard.alerts.services.descriptions import describe
from dashboard.alerts.services.reminders import remind
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import AlertGroup, AlertState, FamilyOwner
from dashboard.site.configuration import due_days
from tests.builders import alerting
from tests.builders.reading import text

pytestmark = pytest.mark.django_db
SINCE = datetime(2026, 11, 2, 9, tzinfo=UTC)
DAYS = {"high": 3.0, "medium": 10.0, "low": 0.0}


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


@pytest.fixture
def grace() -> User:
    return User.objects.create_user("grace")


def confirmed(**fields: Any) -> AlertGroup:
    """A group with one alert that has just been confirmed."""
    group = alerting.group(state=AlertState.CONFIRMING, **fields)
    alerting.alert(group)
    triage.move(group=group, to=AlertState.CONFIRMED)
    return group


def actions(group: AlertGroup) -> list[str]:
    return list(group.events.values_list("action", flat=True))


# --- Due dates


def test_severity_says_how_much_time_there_is() -> None:
    assert due_at(SINCE, "high", DAYS) == SINCE + timedelta(days=3)
    assert due_at(SINCE, "low", DAYS) is None


@pytest.mark.parametrize(
    ("days", "hours", "expected"),
    [(10, 24 * 9 - 1, ""), (10, 24 * 9, "due"), (10, 240, "late"), (1, 17, ""), (1, 18, "due")],
)
def test_reminder_comes_a_day_ahead_or_a_quarter_of_a_short_time(
    days: int, hours: int, expected: str
) -> None:
    now = SINCE + timedelta(hours=hours)
    assert reminder(SINCE, SINCE + timedelta(days=days), now) == expected


def test_confirmed_alert_is_due_by_its_severity(settings: Any) -> None:
    settings.DUE_DAYS = {"high": 1.0, "medium": 4.0, "low": 9.0}
    group = confirmed(severity="medium")
    assert group.due_since
    assert group.due_at == group.due_since + timedelta(days=4)


def test_suspicion_is_not_due() -> None:
    group = alerting.group()
    triage.move(group=group, to=AlertState.CONFIRMING)
    assert group.due_at is None


def test_improvement_is_never_due() -> None:
    assert confirmed(direction="improvement").due_at is None


def test_acknowledged_alert_stays_due_and_a_closed_one_is_not(ada: User) -> None:
    group = confirmed()
    due = group.due_at
    triage.move(group=group, to=AlertState.ACKNOWLEDGED, by=ada)
    assert group.due_at == due
    triage.move(group=group, to=AlertState.FIXED, by=ada)
    assert group.due_at is None


def test_closed_alert_is_not_due_again_when_it_is_described(ada: User) -> None:
    """Detection has read the group before ada closed it."""
    group = confirmed()
    read_before = AlertGroup.objects.get()
    triage.move(group=group, to=AlertState.FIXED, by=ada)
    describe(groups=[read_before])
    assert AlertGroup.objects.get().due_at is None


@pytest.mark.parametrize("value", ["high=3", "high=3,medium=x,low=1", "high=-1,medium=1,low=1"])
def test_setting_that_is_wrong_is_refused_with_its_name(value: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DUE_DAYS is"):
        due_days(value)


# --- Reminders


def test_alert_is_reminded_of_once_when_due_and_once_when_late() -> None:
    group = confirmed()
    assert group.due_at
    day_before, after = group.due_at - timedelta(hours=12), group.due_at + timedelta(hours=1)
    assert remind(now=timezone.now()) == 0
    assert [remind(now=now) for now in (day_before, day_before, after, after)] == [1, 0, 1, 0]
    assert actions(group)[-2:] == ["due", "late"]


def test_alert_that_is_due_in_days_is_not_locked(
    django_assert_max_num_queries: Callable[[int], AbstractContextManager[Any]],
) -> None:
    confirmed()
    AlertGroup.objects.update(due_at=timezone.now() + timedelta(days=2))
    with django_assert_max_num_queries(2):
        remind(now=timezone.now())


def test_closed_alert_is_not_reminded_of(ada: User) -> None:
    group = confirmed()
    assert group.due_at
    later = group.due_at + timedelta(days=1)
    triage.move(group=group, to=AlertState.WONTFIX, by=ada)
    assert remind(now=later) == 0


def test_alert_from_before_due_dates_has_all_its_time_from_now_on() -> None:
    group = alerting.group(state="confirmed", created_at=SINCE)
    now = timezone.now()
    assert remind(now=now) == 0
    group.refresh_from_db()
    assert group.due_since == now


def test_reminder_concerns_who_has_the_alert(ada: User) -> None:
    group = confirmed(assignee=ada)
    assert group.due_at
    remind(now=group.due_at)
    late = group.events.get(action="late")
    assert late.people == [ada.pk]
    assert late.text.endswith("assigned to ada")


# --- Hand-overs


def test_hand_over_is_in_the_history_and_concerns_both(ada: User, grace: User) -> None:
    group = alerting.group(assignee=ada)
    event = assignments.hand_over(group=group, to=grace, by=ada, note=" reverted, watch it ")
    assert event.action == "handed over"
    assert event.text == "from ada to grace: reverted, watch it"
    assert event.people == [ada.pk, grace.pk]
    assert AlertGroup.objects.get().assignee == grace


@pytest.mark.parametrize(
    ("has_it", "note", "message"),
    [(True, " ", "what they should know"), (False, "yours", "Nobody has alert")],
)
def test_hand_over_without_a_note_or_an_assignee_is_refused(
    ada: User, grace: User, has_it: bool, note: str, message: str
) -> None:
    group = alerting.group(assignee=ada if has_it else None)
    with pytest.raises(ActionNotAllowed, match=message):
        assignments.hand_over(group=group, to=grace, by=ada, note=note)


def test_hand_over_to_who_has_it_is_refused(ada: User) -> None:
    with pytest.raises(ActionNotAllowed, match="ada has alert"):
        assignments.hand_over(group=alerting.group(assignee=ada), to=ada, by=ada, note="x")


def test_assignment_concerns_all_but_who_made_it(ada: User, grace: User) -> None:
    group = alerting.group(assignee=grace)
    assert assignments.assign(group=group, to=ada, by=ada).people == [grace.pk]
    assert assignments.assign(group=group, to=ada, by=grace).people == []


# --- Owners


def test_new_alert_is_assigned_to_the_owner_of_its_family(ada: User) -> None:
    FamilyOwner.objects.create(family="toy", owner=ada)
    group = alerting.stepped().group
    assert group.assignee == ada
    assert "to ada, who looks after toy" in group.events.get(action="assigned").text


def test_owner_of_another_family_gets_nothing(ada: User) -> None:
    FamilyOwner.objects.create(family="llm", owner=ada)
    assert alerting.stepped().group.assignee is None


def test_owner_who_cannot_sign_in_gets_nothing(ada: User) -> None:
    FamilyOwner.objects.create(family="toy", owner=ada)
    User.objects.update(is_active=False)
    assert alerting.stepped().group.assignee is None


def test_confirmation_concerns_who_has_the_alert(ada: User) -> None:
    group = confirmed(assignee=ada)
    assert group.events.get(state="confirmed").people == [ada.pk]


# --- Pages and API


def test_inbox_keeps_the_late_ones(reader: Client) -> None:
    late = alerting.group(state="confirmed", due_at=timezone.now() - timedelta(hours=1))
    alerting.group(state="confirmed", due_at=timezone.now() + timedelta(days=30))
    alerting.group(state="confirmed")
    shown = text(reader, "/alerts/?due=late")
    assert late.get_absolute_url() in shown
    assert shown.count("data-row") == 1


def test_alert_page_shows_when_it_is_due(reader: Client) -> None:
    group = confirmed()
    assert group.due_at
    shown = text(reader, group.get_absolute_url())
    assert f'<time datetime="{group.due_at.isoformat(timespec="seconds")}"' in shown


def test_api_has_due_date_and_filter(reader: Client) -> None:
    group = confirmed()
    AlertGroup.objects.update(due_at=timezone.now() - timedelta(hours=1))
    (alert,) = reader.get("/api/v1/alerts?due=late").json()["results"]
    assert alert["id"] == group.pk
    assert alert["is_late"] is True
    assert alert["due_at"]
