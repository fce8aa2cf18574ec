"""The likely cause of a whole group: the facts of each of its alerts, gathered again.

Of a single alert that is new, alert_groups.py asks the same question of the same rules
(core/attribution.py).
"""

from dashboard.alerts.core import grouping
from dashboard.alerts.core.attribution import attribute
from dashboard.alerts.selectors.alerts import OPEN
from dashboard.alerts.selectors.evidence import suspicion_of
from dashboard.alerts.selectors.facts import facts_of
from dashboard.alerts.services import triage
from dashboard.models import AlertGroup


def reattribute(*, group: AlertGroup) -> None:
    """Gather the facts of every alert again, and give the group the cause that most of them have
    evidence for.
    """
    related = (
        "series__benchmark",
        "series__config",
        "series__track",
        "base",
        "new",
        "group",
    )
    alerts = list(group.alerts.select_related(*related))
    pieces: dict[tuple[str, str], dict[str, str]] = {}  # alerts may share a piece of evidence
    for alert in alerts:
        own_cause, evidence = attribute(facts_of(alert))
        if alert.decision.get("cause") != own_cause:
            alert.decision["cause"] = own_cause
            alert.save(update_fields=["decision"])
        for piece in evidence:
            pieces[piece.fact, piece.says] = piece.document()

    before = group.cause
    cause = grouping.cause_of([suspicion_of(alert) for alert in alerts])
    group.cause = cause
    group.evidence = sorted(
        pieces.values(), key=lambda piece: (piece["supports"] != cause, not piece["supports"])
    )
    group.save(update_fields=["cause", "evidence"])
    if cause != before:
        triage.record_cause(group=group)


def settle(*, group: AlertGroup) -> bool:
    """Once all data of its runs are there: look for the cause again, and join the group that has
    the same one now.

    False where it was joined into another one. What a person has split or merged stays as it is.
    """
    reattribute(group=group)
    other = _group_of_same_cause(group)
    if other is None:
        return True
    triage.merge(group=group, into=other, by=None, why="the same build, cause and direction")
    reattribute(group=other)
    return False


def _group_of_same_cause(group: AlertGroup) -> AlertGroup | None:
    """An older open group of the same builds with the same, known cause that nobody has arranged by
    hand.
    """
    if group.cause == "unknown" or _is_arranged(group):
        return None
    older = AlertGroup.objects.filter(
        OPEN,
        pk__lt=group.pk,
        machine=group.machine_id,
        track=group.track_id,
        base=group.base_id,
        new=group.new_id,
        kind=group.kind,
        cause=group.cause,
        direction=group.direction,
    )
    return next((other for other in older.order_by("pk") if not _is_arranged(other)), None)


def _is_arranged(group: AlertGroup) -> bool:
    return group.events.filter(action__in=("split", "merged"), by__isnull=False).exists()
