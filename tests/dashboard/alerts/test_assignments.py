"""Assignees of alerts: hand-overs in the history, owners of families."""

from typing import Any

import pytest
from django.contrib.auth.models import User

from dashboard.alerts.services import assignments, triage
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import AlertGroup, AlertState, FamilyOwner
from tests.builders import alerting

pytestmark = pytest.mark.django_db


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
