"""Actions of people and the system on alert groups: docs/architecture.md draws the states.

Every call is one transaction on the locked group and leaves one AlertEvent: who, when, why.
`by=None` is the system. What is not possible raises ActionNotAllowed with a text for the person.
Every event is written by `history.add_event`.
"""

from collections.abc import Collection, Iterable
from datetime import datetime

from django.core.exceptions import ValidationError
from django.core.validators import URLValidator
from django.db import transaction
from django.utils import timezone

from dashboard.alerts.selectors import evidence
from dashboard.alerts.services.assignments import assign_owner
from dashboard.alerts.services.descriptions import describe
from dashboard.alerts.services.history import Person, add_event, because, lock, person_id
from dashboard.language.errors import ActionNotAllowed
from dashboard.models import (
    Alert,
    AlertEvent,
    AlertGroup,
    AlertState,
    Confirmation,
    EvidenceState,
    InvalidPoint,
    IssueLink,
    Job,
    Mute,
    Series,
    TorchBuild,
    WorkflowState,
)
from dashboard.models.alert_words import IN_WORK, OVER
from dashboard.results.services import levels, newest
from dashboard.results.services.detection_queue import enqueue

_ENDS = (WorkflowState.FIXED, WorkflowState.WONTFIX, WorkflowState.INVALID)
BY_PERSON: dict[WorkflowState, Collection[WorkflowState]] = {
    WorkflowState.NEW: (WorkflowState.ACKNOWLEDGED, *_ENDS),
    WorkflowState.ACKNOWLEDGED: _ENDS,
    WorkflowState.FIXED: (WorkflowState.ACKNOWLEDGED,),  # a person says that it is not over
    WorkflowState.WONTFIX: (WorkflowState.ACKNOWLEDGED,),
    WorkflowState.INVALID: (WorkflowState.ACKNOWLEDGED,),
}
_IF_OVER: dict[str, Collection[WorkflowState]] = {  # of evidence that has closed the group
    EvidenceState.NOT_REPRODUCED: (WorkflowState.ACKNOWLEDGED, WorkflowState.INVALID),
    EvidenceState.RECOVERED: (WorkflowState.ACKNOWLEDGED,),
}
BY_SYSTEM: dict[EvidenceState, Collection[EvidenceState]] = {
    EvidenceState.SUSPECTED: (
        EvidenceState.CONFIRMING,
        EvidenceState.INCONCLUSIVE,
        EvidenceState.RECOVERED,
    ),
    EvidenceState.CONFIRMING: (
        EvidenceState.CONFIRMED,
        EvidenceState.NOT_REPRODUCED,
        EvidenceState.INCONCLUSIVE,
        EvidenceState.RECOVERED,
    ),
    EvidenceState.CONFIRMED: (EvidenceState.NOT_REPRODUCED, EvidenceState.RECOVERED),
    EvidenceState.INCONCLUSIVE: (EvidenceState.SUSPECTED, EvidenceState.RECOVERED),
    EvidenceState.MISSING_REPORT: (EvidenceState.RECOVERED,),
}
AGAIN = (EvidenceState.CONFIRMED, EvidenceState.INCONCLUSIVE, EvidenceState.NOT_REPRODUCED)
"""What can be measured again."""
OLD_NEWS = "It was too old to be news when it was judged: closed from the start."


def possible(*, group: AlertGroup, person: bool = True) -> tuple[AlertState, ...]:
    """List where a person (or the system) can move the group to now, in the order of AlertState.

    A person moves the workflow, the system the evidence. The system alone also closes as invalid
    what rests on points that were taken out, and suspects it again when they are back.
    """
    allowed: Collection[str]
    if person:
        allowed = BY_PERSON[WorkflowState(group.workflow_state)]
        if group.workflow_state in IN_WORK:
            allowed = _IF_OVER.get(group.evidence_state, allowed)
    elif group.is_open:
        allowed = (*BY_SYSTEM[EvidenceState(group.evidence_state)], WorkflowState.INVALID)
    elif group.workflow_state == WorkflowState.INVALID:
        allowed = (EvidenceState.SUSPECTED,)
    else:
        allowed = ()
    return tuple(state for state in AlertState if state in allowed)


def move(*, group: AlertGroup, to: AlertState, by: Person = None, why: str = "") -> AlertEvent:
    """Move the group's workflow or evidence. Raises ActionNotAllowed.

    `group` is brought up to date.
    """
    with transaction.atomic():
        lock(group)
        allowed = possible(group=group, person=by is not None)
        if to not in allowed:
            can = ", ".join(allowed) or "nothing"
            raise ActionNotAllowed(
                f"Alert {group.pk} is {group.state} and cannot become {to}; it can become: {can}."
            )
        if to in WorkflowState.values:
            if to == AlertState.ACKNOWLEDGED and group.evidence_state in OVER:
                group.evidence_state = EvidenceState.INCONCLUSIVE
            group.workflow_state = to
        else:
            group.evidence_state = to
            if group.workflow_state == WorkflowState.INVALID:
                group.workflow_state = WorkflowState.NEW  # its points are back
        _save_states(group)
        # Who has it, by their family or by hand, hears of it: also of what got better
        people = [group.assignee_id] if to == AlertState.CONFIRMED else []
        return add_event(group, "state", by, why, state=to, people=people)


def _save_states(group: AlertGroup) -> None:
    group.closed_at = None if group.is_open else timezone.now()
    group.save(update_fields=["evidence_state", "workflow_state", "closed_at"])


def can_measure_again(*, group: AlertGroup) -> bool:
    return group.evidence_state in AGAIN and group.workflow_state in IN_WORK


def measure_on(*, group: AlertGroup, by: Person, text: str) -> AlertEvent:
    """Record that a person has it measured again; what is confirmed stays so meanwhile.

    Raises ActionNotAllowed.
    """
    with transaction.atomic():
        lock(group)
        if not can_measure_again(group=group):
            *most, last = (state.value.replace("_", " ") for state in AGAIN)
            states = f"{', '.join(most)} or {last}"
            raise ActionNotAllowed(
                f"Alert {group.pk} is {group.state}: only what is {states} is measured again."
            )
        if group.evidence_state != EvidenceState.CONFIRMED:
            group.evidence_state = EvidenceState.CONFIRMING
            _save_states(group)
        return add_event(group, "measured again", by, text)


def record_opened(*, group: AlertGroup) -> AlertEvent:
    """Record that the system opened a group, once it is described, and give it to who looks after
    its family. What is closed from the start is not news, and nobody has to answer it.
    """
    opened = add_event(group, "opened", None, group.title)
    if group.is_open:
        assign_owner(group=group)
    else:
        record_event(group=group, text=OLD_NEWS)
    return opened


def record_cause(*, group: AlertGroup) -> AlertEvent:
    """Record that the likely cause is another one now."""
    return add_event(group, "cause", None, group.get_cause_display())


def record_event(*, group: AlertGroup, text: str) -> AlertEvent:
    """Record what the system saw, without moving the group."""
    return add_event(group, "note", None, text)


def note(*, group: AlertGroup, text: str, by: Person) -> AlertEvent:
    """Add a remark. Raises ActionNotAllowed for an empty one."""
    if not text.strip():
        raise ActionNotAllowed("The note is empty: write what others should know.")
    with transaction.atomic():
        lock(group)
        return add_event(group, "note", by, text.strip())


def link_issue(*, group: AlertGroup, url: str, by: Person, title: str = "") -> IssueLink:
    """Link an issue or pull request. Raises ActionNotAllowed for what is not an http(s) address."""
    try:
        URLValidator(schemes=["http", "https"])(url)
    except ValidationError:
        message = f"{url!r} is not an address: paste the issue's whole link, as https://…"
        raise ActionNotAllowed(message) from None
    with transaction.atomic():
        lock(group)
        link, made = IssueLink.objects.get_or_create(
            group=group, url=url, defaults={"title": title}
        )
        if made:
            add_event(group, "linked", by, f"{title} {url}".strip())
        return link


def move_change_point(
    *, group: AlertGroup, to: TorchBuild, by: Person, why: str = ""
) -> AlertEvent:
    """Record that the change began with another build of the track.

    Its base becomes the build that was measured before it. Raises ActionNotAllowed where the track
    has not measured that build on the machine.
    """
    with transaction.atomic():
        lock(group)
        base = evidence.build_before(group=group, build=to)
        if base is None:
            measured = f"the builds that track {group.track} measured on {group.machine}"
            raise ActionNotAllowed(f"{to} is not among {measured}.")
        before = f"{group.base} → {group.new}"
        group.base, group.new = base, to
        group.save(update_fields=["base", "new"])
        group.alerts.update(base=base, new=to)
        return add_event(group, "nudged", by, f"from {before} to {base} → {to}{because(why)}")


def split(*, alerts: Iterable[Alert], by: Person, why: str = "") -> AlertGroup:
    """Move some alerts of one group into a new group of the same state, builds and place.

    While the group is being confirmed the new one is suspected: it is measured on its own. Raises
    ActionNotAllowed: none, of several groups, all of a group, or one that is being measured again.
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
        running = Confirmation.objects.filter(group=old, state=Confirmation.State.RUNNING)
        if running.filter(alerts__in=ids).exists():
            raise ActionNotAllowed(
                "One of them is being measured again for its group: wait until that has ended, or "
                "choose the others."
            )
        new = AlertGroup.objects.get(pk=old.pk)
        new.pk, new.title = None, f"{old.title} (split)"[:300]
        if new.evidence_state == EvidenceState.CONFIRMING:
            new.evidence_state = EvidenceState.SUSPECTED
        new.save(force_insert=True)
        Alert.objects.filter(pk__in=ids).update(group=new)
        describe(groups=[old, new])
        add_event(old, "split", by, f"{len(ids)} into alert {new.pk}{because(why)}")
        add_event(new, "split", by, f"off alert {old.pk}{because(why)}")
        return new


def merge(*, group: AlertGroup, into: AlertGroup, by: Person, why: str = "") -> AlertGroup:
    """Move all alerts of a group into another one, and close the emptied one as invalid.

    Its history says where they are. Raises ActionNotAllowed for a group into itself, and for one of
    another machine: a group is measured again on its own.
    """
    if group.pk == into.pk:
        raise ActionNotAllowed("A group cannot be merged into itself: choose another one.")
    if group.machine_id != into.machine_id:
        raise ActionNotAllowed(
            f"Alerts {group.pk} and {into.pk} are of different machines: what is merged is "
            "measured again on one of them. Choose an alert of the same machine."
        )
    with transaction.atomic():
        _locked([group.pk, into.pk])
        group.refresh_from_db()
        into.refresh_from_db()
        moved = Alert.objects.filter(group=group).update(group=into)
        group.workflow_state = WorkflowState.INVALID
        _save_states(group)
        describe(groups=[into])
        add_event(group, "merged", by, f"into alert {into.pk}{because(why)}")
        add_event(into, "merged", by, f"{moved} from alert {group.pk}{because(why)}")
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
            defaults={"reason": reason.strip(), "by_id": person_id(by)},
        )
        _count_again(series.pk, job)
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
        _count_again(series_id, job)


def _count_again(series: int, job: Job) -> None:
    """Bring what is stored of a series up to date, after a job's point was taken out or is back."""
    levels.roll_up(series=[series], builds=[job.run.build_id])
    newest.roll_up(series=[series])
    enqueue(series_ids=[series])


def mute(*, series: Series, until: datetime, by: Person, reason: str = "") -> Mute:
    """Let a series raise no alert until a moment, which must not have passed (ActionNotAllowed)."""
    if until <= timezone.now():
        raise ActionNotAllowed("That moment has passed: choose a later one.")
    return Mute.objects.create(series=series, until=until, reason=reason, by_id=person_id(by))


def unmute(*, series: Series) -> int:
    """End the mutes of a series now; how many there were."""
    now = timezone.now()
    return series.mutes.filter(until__gt=now).update(until=now)


def _locked(ids: Collection[int]) -> list[AlertGroup]:
    return list(
        AlertGroup.objects.select_for_update(of=("self",)).filter(pk__in=ids).order_by("pk")
    )
