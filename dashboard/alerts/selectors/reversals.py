"""Later changes that undid an alert of their series: what rose is lower now than it had been."""

from collections.abc import Iterable
from dataclasses import dataclass

from django.contrib.postgres.expressions import ArraySubquery
from django.db.models import OuterRef, QuerySet
from django.db.models.functions import JSONObject

from dashboard.alerts.selectors.alerts import DECISION_IN_BRIEF, STANDING
from dashboard.models import Alert


@dataclass(frozen=True, slots=True)
class LaterChange:
    """group: of its alert, by id. build: its label; empty where not known. level: after it."""

    group: int
    build: str
    level: float


def with_later_changes(alerts: QuerySet[Alert]) -> QuerySet[Alert]:
    """Each with what `reversal` needs of the later changes of its series. No further query."""
    later = Alert.objects.filter(
        STANDING,
        series=OuterRef("series"),
        planned_at__gt=OuterRef("planned_at"),
        recovered_at=None,
    )
    brief = JSONObject(group="group", build="new__label", decided=DECISION_IN_BRIEF)
    return alerts.annotate(
        later_changes=ArraySubquery(later.order_by("planned_at").values(brief=brief))
    )


def reversal_in_list(alert: Alert) -> LaterChange | None:
    """`reversal` of an alert that was read `with_later_changes`."""
    later = []
    for found in alert.later_changes:  # type: ignore[attr-defined]  # annotated
        if levels := Alert(decision=found["decided"]).levels:
            later.append(LaterChange(found["group"], found["build"] or "", levels[1]))
    return reversal(alert, later)


def reversal_among(alert: Alert, others: Iterable[Alert]) -> LaterChange | None:
    """`reversal` by the other changes of the series, oldest first."""
    later = []
    for other in others:
        if other.planned_at > alert.planned_at and not other.recovered_at and other.levels:
            build = other.new.label if other.new else ""
            later.append(LaterChange(other.group_id, build, other.levels[1]))
    return reversal(alert, later)


def reversal(alert: Alert, later: Iterable[LaterChange]) -> LaterChange | None:
    """The later change since which the series is on the other side of the level before the alert;
    None where it is not.
    """
    if alert.levels is None:
        return None
    before, after = alert.levels
    reversal = None
    for change in later:
        is_beyond = (change.level - before) * (after - before) < 0
        reversal = (reversal or change) if is_beyond else None
    return reversal
