"""The states of an alert group, and what people do with groups: one event each."""

from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone

from dashboard.alerts.services import assignments, triage
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import AlertGroup, AlertState, DetectorState
from tests.builders import alerting, site

pytestmark = pytest.mark.django_db


@pytest.fixture
def ada() -> User:
    return User.objects.create_user("ada")


def test_a_person_acknowledges_and_the_event_says_who_and_why(ada: User) -> None:
    group = alerting.group()
    event = triage.move(
        group=group,
        to=AlertState.ACKNOWLEDGED,
        by=ada,
        why="looking at it",
    )
    assert group.state == "acknowledged"
    assert event.by == ada
    assert event.state == "acknowledged"
    assert event.text == "looking at it"


def test_closing_sets_the_time_and_reopening_clears_it(ada: User) -> None:
    group = alerting.group()
    triage.move(group=group, to=AlertState.FIXED, by=ada)
    assert group.closed_at is not None
    triage.move(group=group, to=AlertState.ACKNOWLEDGED, by=ada)
    assert group.closed_at is None


def test_refused_move_lists_the_possible_ones(ada: User) -> None:
    group = alerting.group(state=AlertState.FIXED)
    with pytest.raises(
        ActionNotAllowed, match=r"is fixed and cannot become wontfix; it can become: acknowledged"
    ):
        triage.move(group=group, to=AlertState.WONTFIX, by=ada)


def test_only_the_system_confirms(ada: User) -> None:
    group = alerting.group(state=AlertState.CONFIRMING)
    with pytest.raises(ActionNotAllowed):
        triage.move(group=group, to=AlertState.CONFIRMED, by=ada)
    triage.move(group=group, to=AlertState.CONFIRMED)
    assert AlertGroup.objects.get().state == "confirmed"


def test_move_is_checked_against_the_stored_state(ada: User) -> None:
    group = alerting.group()
    stale = AlertGroup.objects.get()
    triage.move(group=group, to=AlertState.INVALID, by=ada)
    with pytest.raises(ActionNotAllowed, match="is invalid"):
        triage.move(group=stale, to=AlertState.FIXED, by=ada)


def test_a_group_is_assigned_noted_and_linked(ada: User) -> None:
    group = alerting.group()
    assignments.assign(group=group, to=ada, by=ada)
    triage.note(group=group, text=" it is the matmul ", by=ada)
    triage.link_issue(
        group=group,
        url="https://example.org/issues/7",
        title="Slow matmul",
        by=ada,
    )
    assert list(group.events.values_list("action", "text")) == [
        ("assigned", "to ada"),
        ("note", "it is the matmul"),
        ("linked", "Slow matmul https://example.org/issues/7"),
    ]
    assert group.assignee == ada
    assert group.links.get().title == "Slow matmul"


def test_text_that_is_not_an_address_is_not_linked(ada: User) -> None:
    with pytest.raises(ActionNotAllowed, match="is not an address"):
        triage.link_issue(group=alerting.group(), url="javascript:alert(1)", by=ada)


def test_change_point_moves_to_a_neighbouring_build(ada: User) -> None:
    first, second, third = (site.build(label) for label in ("2.11.0", "2.12.0", "2.13.0"))
    for build in (first, second, third):
        site.run(build=build.label, purpose="scheduled")
    group = alerting.group(base=second, new=third)
    triage.move_change_point(
        group=group,
        to=second,
        by=ada,
        why="the run before shows it",
    )
    group.refresh_from_db()
    assert group.base == first
    assert group.new == second
    expected = "from 2.12.0 → 2.13.0 to 2.11.0 → 2.12.0: the run before shows it"
    assert group.events.get().text == expected


def test_change_point_does_not_move_to_an_unmeasured_build(ada: User) -> None:
    with pytest.raises(ActionNotAllowed, match="not among the builds"):
        triage.move_change_point(
            group=alerting.group(),
            to=site.build("9.9"),
            by=ada,
        )


def test_split_group_and_its_remainder_get_new_titles(ada: User) -> None:
    group = alerting.group()
    stays, goes = alerting.alert(group, config="eager"), alerting.alert(group, config="inductor")
    new = triage.split(alerts=[goes], by=ada)
    assert list(group.alerts.all()) == [stays]
    assert list(new.alerts.all()) == [goes]
    new.refresh_from_db()
    assert new.title.startswith("mlp inference: 6.2% slower in inductor")


def test_a_whole_group_is_not_split(ada: User) -> None:
    group = alerting.group()
    with pytest.raises(ActionNotAllowed, match="whole group"):
        triage.split(alerts=[alerting.alert(group)], by=ada)


def test_alerts_of_different_machines_are_not_merged(ada: User) -> None:
    group, into = alerting.group(), alerting.group(machine=site.machine("other"))
    with pytest.raises(ActionNotAllowed, match="are of different machines"):
        triage.merge(group=group, into=into, by=ada)
    assert group.is_open


def test_a_merged_group_closes_and_says_where_its_alerts_are(ada: User) -> None:
    group, into = alerting.group(), alerting.group()
    alerting.alert(group, config="eager")
    alerting.alert(into, config="inductor")
    triage.merge(group=group, into=into, by=ada)
    assert group.alerts.count() == 0
    assert into.alerts.count() == 2
    assert group.state == "invalid"
    assert group.events.get().text == f"into alert {into.pk}"


def test_an_invalid_point_is_reversible_and_the_series_is_due_each_time(ada: User) -> None:
    series = alerting.measured([2.0])
    job = series.data.get().job
    point = triage.mark_invalid(
        series=series,
        job=job,
        reason="the fan had stopped",
        by=ada,
    )
    assert DetectorState.objects.get(series=series).due
    DetectorState.objects.update(due=False)
    triage.bring_back(point=point)
    assert DetectorState.objects.get(series=series).due
    assert not series.invalid_points.exists()


def test_an_invalid_point_needs_a_reason(ada: User) -> None:
    series = alerting.measured([2.0])
    with pytest.raises(ActionNotAllowed, match="why"):
        triage.mark_invalid(
            series=series,
            job=series.data.get().job,
            reason=" ",
            by=ada,
        )


def test_a_series_is_muted_until_a_date_or_until_it_is_not(ada: User) -> None:
    series = alerting.measured([2.0])
    until = timezone.now() + timedelta(days=3)
    triage.mute(series=series, until=until, by=ada, reason="new fan")
    assert triage.unmute(series=series) == 1
    assert series.mutes.get().until <= timezone.now()
