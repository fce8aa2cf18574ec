"""The history of an alert group: its row is locked, and what happened is one AlertEvent.

Every event of a group is written here. `by=None` is the system.
"""

from collections.abc import Collection

from django.contrib.auth.models import AbstractBaseUser

from dashboard.models import AlertEvent, AlertGroup

Person = AbstractBaseUser | None


def lock(group: AlertGroup) -> None:
    """Lock the group's row and bring `group` up to date."""
    group.refresh_from_db(from_queryset=AlertGroup.objects.select_for_update(of=("self",)))


def add_event(
    group: AlertGroup,
    action: str,
    by: Person,
    text: str,
    *,
    state: str = "",
    people: Collection[int | None] = (),
) -> AlertEvent:
    """state: what the event moved the group to; none: it did not move. people: accounts that it
    concerns, by id: they are notified in person.
    """
    return AlertEvent.objects.create(
        group=group,
        action=action,
        by_id=person_id(by),
        state=state or group.state,
        text=text,
        people=sorted({person for person in people if person is not None}),
    )


def person_id(person: Person) -> int | None:
    return person.pk if person else None


def because(why: str) -> str:
    return f": {why.strip()}" if why.strip() else ""
