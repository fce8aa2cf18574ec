"""Assignment of alerts: by hand or by family, and handing over with a note."""

from django.contrib.auth.models import AbstractBaseUser
from django.db import transaction

from dashboard.alerts.selectors.owners import owner_of
from dashboard.alerts.services.history import Person, add_event, because, lock, person_id
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import AlertEvent, AlertGroup


def assign(
    *, group: AlertGroup, to: AbstractBaseUser | None, by: Person, why: str = ""
) -> AlertEvent:
    """Give the group to a person, or to nobody. Who gets it from somebody else is notified, unless
    they took it themselves; so is who had it.
    """
    with transaction.atomic():
        lock(group)
        before = group.assignee_id
        _give(group, to)
        name = to.get_username() if to else "nobody"
        people = {before, person_id(to)} - {person_id(by)} if before != person_id(to) else set()
        return add_event(group, "assigned", by, f"to {name}{because(why)}", people=people)


def hand_over(*, group: AlertGroup, to: AbstractBaseUser, by: Person, note: str) -> AlertEvent:
    """Give the group of one person to another, who reads in the note where it stands; both are
    notified. Raises ActionNotAllowed: nobody has it, the same person has it, an empty note.
    """
    if not note.strip():
        raise ActionNotAllowed("Write in the note what they should know: what is done, what next.")
    with transaction.atomic():
        lock(group)
        before = group.assignee
        if before is None:
            raise ActionNotAllowed(f"Nobody has alert {group.pk} yet: assign it.")
        if before.pk == to.pk:
            raise ActionNotAllowed(f"{before} has alert {group.pk} already.")
        _give(group, to)
        text = f"from {before} to {to}: {note.strip()}"
        return add_event(group, "handed over", by, text, people=[before.pk, to.pk])


def assign_owner(*, group: AlertGroup) -> None:
    """Give a new group to who looks after its family, where there is somebody."""
    owned = owner_of(group)
    if owned is None:
        return
    _give(group, owned.owner)
    add_event(group, "assigned", None, f"to {owned.owner}, who looks after {owned.family}")


def _give(group: AlertGroup, to: AbstractBaseUser | None) -> None:
    group.assignee_id = person_id(to)
    group.save(update_fields=["assignee"])
