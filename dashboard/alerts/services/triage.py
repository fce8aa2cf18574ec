"""What people and the system do with alert groups: docs/architecture.md draws the states.

Every call is one transaction on the locked group and leaves one AlertEvent: who, when, why.
`by=None` is the system. What is not possible raises ActionNotAllowed with a text for the person.
Every event passes through `_add_event`.
"""

from collections.abc import Collection, Iterable
from datetime import UTC, datetime

from django.contrib.auth.models import AbstractBaseUser
from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.utils import timezone

from dashboard.alerts.selectors import evidence
from dashboard.alerts.services.descriptions import describe
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    InvalidPoint,
    IssueLink,
    Job,
    Mute,
    Series,
    TorchBuild,
)
from dashboard.results.services import days, levels
from dashboard.results.services.detection_queue import enqueue

Person = AbstractBaseUser | None

_ENDS = (AlertState.FIXED, AlertState.WONTFIX, AlertState.INVALID)
OPEN = (
    AlertState.SUSPECTED,
    AlertState.CONFIRMING,
    AlertState.CONFIRMED,
    AlertState.ACKNOWLEDGED,
    AlertState.INCONCLUSIVE,
)
BY_PERSON: dict[AlertState, Collection[AlertState]] = {
    AlertState.SUSPECTED: (AlertState.ACKNOWLEDGED, *_ENDS),
    AlertState.CONFIRMING: (AlertState.ACKNOWLEDGED, *_ENDS),
    AlertState.CONFIRMED: (AlertState.ACKNOWLEDGED, *_ENDS),
    AlertState.INCONCLUSIVE: (AlertState.ACKNOWLEDGED, *_ENDS),
    AlertState.ACKNOWLEDGED: _ENDS,
    AlertState.NOT_REPRODUCED: (AlertState.ACKNOWLEDGED, AlertState.INVALID),
    # reopened: a person says that it is not over
    AlertState.FIXED: (AlertState.ACKNOWLEDGED,),
    AlertState.WONTFIX: (AlertState.ACKNOWLEDGED,),
    AlertState.INVALID: (AlertState.ACKNOWLEDGED,),
    AlertState.RECOVERED: (AlertState.ACKNOWLEDGED,),
}
BY_SYSTEM: dict[AlertState, Collection[AlertState]] = {
    AlertState.SUSPECTED: (
        AlertState.CONFIRMING,
        AlertState.INCONCLUSIVE,
        AlertState.INVALID,
        AlertState.RECOVERED,
    ),
    AlertState.CONFIRMING: (
        AlertState.CONFIRMED,
        AlertState.NOT_REPRODUCED,
        AlertState.INCONCLUSIVE,
        AlertState.INVALID,
        AlertState.RECOVERED,
    ),
    AlertState.CONFIRMED: (AlertState.NOT_REPRODUCED, AlertState.INVALID, AlertState.RECOVERED),
    AlertState.ACKNOWLEDGED: (AlertState.NOT_REPRODUCED, AlertState.INVALID, AlertState.RECOVERED),
    AlertState.INCONCLUSIVE: (AlertState.SUSPECTED, AlertState.INVALID, AlertState.RECOVERED),
    AlertState.INVALID: (AlertState.SUSPECTED,),  # a point that had been taken out is back
}

STAYS = (AlertState.CONFIRMED, AlertState.ACKNOWLEDGED)  # while it is measured again
AGAIN = (*STAYS, AlertState.INCONCLUSIVE, AlertState.NOT_REPRODUCED)


def possible(*, group: AlertGroup, person: bool = True) -> tuple[AlertState, ...]:
    """The states that a person (or the system) can move the group to now, in their order."""
    moves = BY_PERSON if person else BY_SYSTEM
    allowed = moves.get(AlertState(group.state), ())
    return tuple(state for state in AlertState if state in allowed)


def move(*, group: AlertGroup, to: AlertState, by: Person = None, why: str = "") -> AlertEvent:
    """Move the group to another state. Raises ActionNotAllowed. `group` is brought up to date."""
    with transaction.atomic():
        _lock(group)
        allowed = possible(group=group, person=by is not None)
        if to not in allowed:
            can = ", ".join(allowed) or "nothing"
            raise ActionNotAllowed(
                f"Alert {group.pk} is {group.state} and cannot become {to}; it can become: {can}."
            )
        group.state = to
        group.closed_at = None if to in OPEN else timezone.now()
        group.save(update_fields=["state", "closed_at"])
        return _add_event(group, "state", by, why)


def measure_on(*, group: AlertGroup, by: Person, text: str) -> AlertEvent:
    """Record that a person has it measured again; what is confirmed or acknowledged stays so.

    Raises ActionNotAllowed.
    """
    with transaction.atomic():
        _lock(group)
        if group.state not in AGAIN:
            states = _listed(AGAIN)
            raise ActionNotAllowed(
                f"Alert {group.pk} is {group.state}: only what is {states} is measured again."
            )
        if group.state not in STAYS:
            group.state, group.closed_at = AlertState.CONFIRMING, None
            group.save(update_fields=["state", "closed_at"])
        return _add_event(group, "measured again", by, text)


def record_opened(*, group: AlertGroup) -> AlertEvent:
    """Record that the system opened a group, once it is described."""
    return _add_event(group, "opened", None, group.title)


def record_cause(*, group: AlertGroup) -> AlertEvent:
    """Record that the likely cause is another one now."""
    return _add_event(group, "cause", None, group.get_cause_display())


def record_event(*, group: AlertGroup, text: str) -> AlertEvent:
    """Record what the system saw, without moving the group."""
    return _add_event(group, "note", None, text)


def assign(
    *, group: AlertGroup, to: AbstractBaseUser | None, by: Person, why: str = ""
) -> AlertEvent:
    """Give the group to a person, or to nobody."""
    with transaction.atomic():
        _lock(group)
        group.assignee_id = _key(to)
        group.save(update_fields=["assignee"])
        name = to.get_username() if to else "nobody"
        return _add_event(group, "assigned", by, f"to {name}{_because(why)}")


def note(*, group: AlertGroup, text: str, by: Person) -> AlertEvent:
    """Add a remark. Raises ActionNotAllowed for an empty one."""
    if not text.strip():
        raise ActionNotAllowed("The note is empty: write what others should know.")
    with transaction.atomic():
        _lock(group)
        return _add_event(group, "note", by, text.strip())


def link_issue(*, group: AlertGroup, url: str, by: Person, title: str = "") -> IssueLink:
    """Link an issue or pull request. Raises ActionNotAllowed for what is not an http(s) address."""
    try:
        URLValidator(schemes=["http", "https"])(url)
    except ValidationError:
        message = f"{url!r} is not an address: paste the issue's whole link, as https://…"
        raise ActionNotAllowed(message) from None
    with transaction.atomic():
        _lock(group)
        link, made = IssueLink.objects.get_or_create(
            group=group, url=url, defaults={"title": title}
        )
        if made:
            _add_event(group, "linked", by, f"{title} {url}".strip())
        return link


def move_change_point(
    *, group: AlertGroup, to: TorchBuild, by: Person, why: str = ""
) -> AlertEvent:
    """Record that the change began with another build of the track.

    Its base becomes the build that was measured before it. Raises ActionNotAllowed where the track
    has not measured that build on the machine.
    """
    with transaction.atomic():
        _lock(group)
        base = evidence.build_before(group=group, build=to)
        if base is None:
            measured = f"the builds that track {group.track} measured on {group.machine}"
            raise ActionNotAllowed(f"{to} is not among {measured}.")
        before = f"{group.base} → {group.new}"
        group.base, group.new = base, to
        group.save(update_fields=["base", "new"])
        group.alerts.update(base=base, new=to)
        return _add_event(group, "nudged", by, f"from {before} to {base} → {to}{_because(why)}")


def split(*, alerts: Iterable[Alert], by: Person, why: str = "") -> AlertGroup:
    """Move some alerts of one group into a new group of the same state, builds and place.

    Raises ActionNotAllowed: none, of several groups, or all of a group.
    """
    ids = [alert.pk for alert in alerts]
    with transaction.atomic():
        group_ids = Alert.objects.filter(pk__in=ids).values_list("group", flat=True)
        groups = _locked(set(group_ids))
        if len(groups) != 1:
            raise ActionNotAllowed("Choose some alerts of one group to split them off.")
        old = groups[0]
        if old.alerts.exclude(pk__in=ids).count() == 0:
            raise ActionNotAllowed("That is the whole group: choose some of its alerts, not all.")
        new = AlertGroup.objects.get(pk=old.pk)
        new.pk, new.title = None, f"{old.title} (split)"[:300]
        new.save(force_insert=True)
        Alert.objects.filter(pk__in=ids).update(group=new)
        describe(groups=[old, new])
        _add_event(old, "split", by, f"{len(ids)} into alert {new.pk}{_because(why)}")
        _add_event(new, "split", by, f"off alert {old.pk}{_because(why)}")
        return new


def merge(*, group: AlertGroup, into: AlertGroup, by: Person, why: str = "") -> AlertGroup:
    """Move all alerts of a group into another one, and close the emptied one as invalid.

    Its history says where they are. Raises ActionNotAllowed for a group into itself.
    """
    if group.pk == into.pk:
        raise ActionNotAllowed("A group cannot be merged into itself: choose another one.")
    with transaction.atomic():
        _locked([group.pk, into.pk])
        group.refresh_from_db()
        into.refresh_from_db()
        moved = Alert.objects.filter(group=group).update(group=into)
        group.state, group.closed_at = AlertState.INVALID, timezone.now()
        group.save(update_fields=["state", "closed_at"])
        describe(groups=[into])
        _add_event(group, "merged", by, f"into alert {into.pk}{_because(why)}")
        _add_event(into, "merged", by, f"{moved} from alert {group.pk}{_because(why)}")
        return into


def mark_invalid(*, series: Series, job: Job, reason: str, by: Person) -> InvalidPoint:
    """Take a job's datum out of a series' detection, which reads the series again.

    Alerts that no longer stand without the point close as invalid, by the system. `bring_back`
    undoes it. Raises ActionNotAllowed.
    """
    if not reason.strip():
        raise ActionNotAllowed("Say why the point is invalid: others will ask.")
    with transaction.atomic():
        lock_series(series.pk)
        if not series.data.filter(job=job).exists():
            raise ActionNotAllowed(f"Job {job.pk} has no point in this series.")
        point, _ = InvalidPoint.objects.get_or_create(
            series=series,
            job=job,
            defaults={"reason": reason.strip(), "by_id": _key(by)},
        )
        levels.roll_up(series=[series.pk], builds=[job.run.build_id])
        enqueue(series_ids=[series.pk])
        day = job.planned_at.astimezone(UTC).date()
        days.roll_up(series=[series.pk], since=day)
        return point


def lock_series(pk: int) -> None:
    """Keep new results out until the transaction ends: they change the levels that it computes."""
    Series.objects.select_for_update(no_key=True).only("pk").get(pk=pk)


def bring_back(*, point: InvalidPoint) -> None:
    """Undo `mark_invalid`; the detector reads the series again."""
    series_id, job = point.series_id, point.job
    with transaction.atomic():
        lock_series(series_id)
        point.delete()
        levels.roll_up(series=[series_id], builds=[job.run.build_id])
        enqueue(series_ids=[series_id])
        days.roll_up(series=[series_id], since=job.planned_at.astimezone(UTC).date())


def mute(*, series: Series, until: datetime, by: Person, reason: str = "") -> Mute:
    """Let a series raise no alert until a moment, which must not have passed (ActionNotAllowed)."""
    if until <= timezone.now():
        raise ActionNotAllowed("That moment has passed: choose a later one.")
    return Mute.objects.create(series=series, until=until, reason=reason, by_id=_key(by))


def unmute(*, series: Series) -> int:
    """End the mutes of a series now; how many there were."""
    now = timezone.now()
    return series.mutes.filter(until__gt=now).update(until=now)


def _lock(group: AlertGroup) -> None:
    """Lock the group's row and bring `group` up to date."""
    group.refresh_from_db(from_queryset=AlertGroup.objects.select_for_update(of=("self",)))


def _locked(ids: Collection[int]) -> list[AlertGroup]:
    return list(
        AlertGroup.objects.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk")
    )


def _add_event(group: AlertGroup, action: str, by: Person, text: str) -> AlertEvent:
    return AlertEvent.objects.create(
        group=group, action=action, by_id=_key(by), state=group.state, text=text
    )


def _key(person: Person) -> int | None:
    return person.pk if person else None


def _listed(states: Collection[AlertState]) -> str:
    *most, last = (state.value.replace("_", " ") for state in states)
    return f"{', '.join(most)} or {last}"


def _because(why: str) -> str:
    return f": {why.strip()}" if why.strip() else ""
