"""Alerts, read with the inbox's filters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema
from ninja.pagination import paginate

from dashboard.accounts.access import READ
from dashboard.alerts.selectors import alert_page, alerts
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.services import triage
from dashboard.catalog.core.plan import require_known
from dashboard.models import AlertGroup
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, one
from dashboard.ui.api.schemas import Answer, Paged

router = Router(auth=READ, tags=["alerts"])


class AlertFilter(Schema):
    """As on the page: without any state the open ones, without a direction no improvements; `all`
    for everything.
    """

    state: Name | None = None
    evidence_state: Name | None = None
    workflow_state: Name | None = None
    severity: Name | None = None
    cause: Name | None = None
    direction: Name | None = None
    kind: Name | None = None
    machine: Name | None = None
    track: Name | None = None
    family: Name | None = None
    assignee: Name | None = None
    due: Name | None = Field(None, description="late, or within_a_week.")


class AlertOut(Paged):
    """Every series that changed with the same likely cause. series: how many.

    evidence_state: how sure it is. workflow_state: what people make of it. state: either.
    due_at: until when people have to answer it; null where nobody has to. is_late: that is over.
    """

    id: int
    title: str
    kind: str
    state: str
    evidence_state: str
    workflow_state: str
    direction: str
    severity: str
    cause: str
    machine: str | None = Field(None, alias="machine.key")
    track: str | None = Field(None, alias="track.key")
    base: str | None = Field(None, alias="base.label")
    new: str | None = Field(None, alias="new.label")
    assignee: str | None = Field(None, alias="assignee.username")
    from_imports: bool = Field(description="Another system measured it: it is never confirmed.")
    due_at: datetime | None
    is_late: bool
    series: int
    created_at: datetime
    closed_at: datetime | None


class Change(Schema):
    """One series of the group. effect, low, high: new minus base, in unit (percent or difference);
    once it is confirmed, as the confirmation measured it.

    level_before, level_after: as the detector first estimated them, in the metric's own unit; null
    where they were not kept, and for a status.
    """

    id: int = Field(alias="alert.pk", description="What `split` takes.")
    series: int = Field(alias="alert.series_id")
    sentence: str
    benchmark: str = Field(alias="alert.series.benchmark.name")
    config: str = Field(alias="alert.series.config.name")
    metric: str = Field(alias="alert.series.metric")
    direction: str = Field(alias="alert.direction")
    effect: float | None = Field(alias="alert.size.effect")
    low: float | None = Field(alias="alert.size.low")
    high: float | None = Field(alias="alert.size.high")
    unit: str = Field(alias="alert.size.unit")
    level_before: float | None = Field(None, alias="alert.levels.0")
    level_after: float | None = Field(None, alias="alert.levels.1")
    confirmation: str = Field(alias="alert.confirmation")
    smaller: bool = Field(
        alias="alert.is_smaller",
        description="Confirmed, but less than half of the first estimate.",
    )
    first_effect: float | None = Field(
        alias="alert.effect", description="As the detector first estimated it, in unit."
    )
    at: datetime = Field(alias="alert.planned_at")


class Event(Answer):
    at: datetime
    by: str | None = Field(None, alias="by.username", description="Null: the system.")
    action: str
    state: str
    text: str


class Link(Schema):
    url: str
    title: str


class Muted(Answer):
    series: int = Field(alias="series_id")
    until: datetime
    reason: str
    by: str | None = Field(None, alias="by.username")


class LeftOut(Answer):
    """A point that a person took out of detection."""

    id: int = Field(alias="pk", description="What `bring-back` takes.")
    series: int = Field(alias="series_id")
    job: UUID = Field(alias="job_id")
    reason: str
    by: str | None = Field(None, alias="by.username")


class AlertDetail(AlertOut):
    """possible: what a person can move it to now, as `to` of `move`."""

    changes: list[Change]
    evidence: list[dict[str, Any]]
    events: list[Event]
    links: list[Link]
    mutes: list[Muted]
    invalid_points: list[LeftOut]
    commit_range: str
    possible: list[str]

    @staticmethod
    def resolve_changes(group: AlertGroup) -> Sequence[AlertSummary]:
        return alerts.alerts_of([group.pk])

    @staticmethod
    def resolve_events(group: AlertGroup) -> Sequence[Any]:
        return list(group.events.select_related("by"))

    @staticmethod
    def resolve_mutes(group: AlertGroup) -> Sequence[Any]:
        return alert_page.mutes(_series(group))

    @staticmethod
    def resolve_invalid_points(group: AlertGroup) -> Sequence[Any]:
        return alert_page.invalid_points(_series(group))

    @staticmethod
    def resolve_commit_range(group: AlertGroup) -> str:
        return alert_page.commit_range(group)

    @staticmethod
    def resolve_possible(group: AlertGroup) -> Sequence[str]:
        return triage.possible(group=group)


@router.get("alerts", response=list[AlertOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[AlertFilter]) -> QuerySet[AlertGroup]:
    """Alert groups, the newest first."""
    filters = {name: value for name, value in chosen.model_dump().items() if value}
    choices = alerts.choices(chosen.machine or "", chosen.track or "") if filters else {}
    for name, value in filters.items():
        require_known(name, [value], choices[name])
    return alerts.with_counts(alerts.listing(filters))


@router.get("alerts/{int:pk}", response=AlertDetail)
def show(request: HttpRequest, pk: int) -> AlertGroup:
    """One group with its series, the evidence for its cause, and its history."""
    return detail(pk)


def detail(pk: int) -> AlertGroup:
    return one(alerts.with_counts(alert_page.groups()), "alert", pk=pk)


def _series(group: AlertGroup) -> list[int]:
    return list(group.alerts.values_list("series_id", flat=True))
