"""Alerts: read with the inbox's filters, and triaged."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from django.contrib.auth import get_user_model
from django.db.models import Count, QuerySet
from django.http import HttpRequest
from ninja import Field, Query, Router, Schema
from ninja.pagination import paginate

from dashboard.api.access import READ, TRIAGE, caller_of
from dashboard.api.asked import Name, Text, one
from dashboard.api.paging import Pages
from dashboard.api.schemas import Paged
from dashboard.models import AlertGroup, AlertState
from dashboard.plan import require_known
from dashboard.selectors import alert_page, alerts
from dashboard.selectors.alerts import Told
from dashboard.services import triage

router = Router(auth=READ, tags=["alerts"])


class AlertFilter(Schema):
    """As on the page: without a state the open ones, without a direction no improvements; `all` for everything."""

    state: Name | None = None
    severity: Name | None = None
    cause: Name | None = None
    direction: Name | None = None
    kind: Name | None = None
    machine: Name | None = None
    track: Name | None = None
    family: Name | None = None
    assignee: Name | None = None


class AlertOut(Paged):
    """Every series that changed with the same likely cause. series: how many."""

    id: int
    title: str
    kind: str
    state: str
    direction: str
    severity: str
    cause: str
    machine: str | None = Field(None, alias="machine.key")
    track: str | None = Field(None, alias="track.key")
    base: str | None = Field(None, alias="base.label")
    new: str | None = Field(None, alias="new.label")
    assignee: str | None = Field(None, alias="assignee.username")
    series: int
    created_at: datetime
    closed_at: datetime | None


class Change(Schema):
    """One series of the group. effect, low, high: new minus base, in unit (percent or difference)."""

    series: int = Field(alias="alert.series_id")
    sentence: str
    benchmark: str = Field(alias="alert.series.benchmark.name")
    config: str = Field(alias="alert.series.config.name")
    metric: str = Field(alias="alert.series.metric")
    direction: str = Field(alias="alert.direction")
    effect: float | None = Field(alias="alert.effect")
    low: float | None = Field(alias="alert.low")
    high: float | None = Field(alias="alert.high")
    unit: str = Field(alias="alert.unit")
    confirmation: str = Field(alias="alert.confirmation")
    at: datetime = Field(alias="alert.planned_at")


class Event(Schema):
    at: datetime
    by: str | None = Field(None, alias="by.username", description="Null: the system.")
    action: str
    state: str
    text: str


class Link(Schema):
    url: str
    title: str


class AlertDetail(AlertOut):
    """possible: the states that a person can move it to now."""

    changes: list[Change]
    evidence: list[dict[str, Any]]
    events: list[Event]
    links: list[Link]
    commit_range: str
    possible: list[str]

    @staticmethod
    def resolve_changes(group: AlertGroup) -> Sequence[Told]:
        return alerts.alerts_of([group.pk])

    @staticmethod
    def resolve_events(group: AlertGroup) -> Sequence[Any]:
        return list(group.events.select_related("by"))

    @staticmethod
    def resolve_links(group: AlertGroup) -> Sequence[Any]:
        return list(group.links.all())

    @staticmethod
    def resolve_commit_range(group: AlertGroup) -> str:
        return alert_page.commit_range(group)

    @staticmethod
    def resolve_possible(group: AlertGroup) -> Sequence[str]:
        return triage.possible(group=group)


class Move(Schema):
    to: AlertState
    why: Text = ""


class Assign(Schema):
    to: Name | None = Field(description="The name of an account; null for nobody.")
    why: Text = ""


class Note(Schema):
    text: str = Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")


class Issue(Schema):
    url: Name = Field(max_length=500)
    title: Text = Field("", max_length=200)


@router.get("alerts", response=list[AlertOut])
@paginate(Pages)
def listing(request: HttpRequest, chosen: Query[AlertFilter]) -> QuerySet[AlertGroup]:
    """Alert groups, the newest first."""
    asked = {name: value for name, value in chosen.model_dump().items() if value}
    _check(asked)
    return alerts.with_counts(alerts.listing(asked))


@router.get("alerts/{int:pk}", response=AlertDetail)
def show(request: HttpRequest, pk: int) -> AlertGroup:
    """One group with its series, the evidence for its cause, and its history."""
    return _detail(pk)


@router.post("alerts/{int:pk}/move", response=AlertDetail, auth=TRIAGE)
def move(request: HttpRequest, pk: int, asked: Move) -> AlertGroup:
    """Acknowledge it, close it, reopen it."""
    triage.move(group=_one(pk), to=asked.to, by=caller_of(request), why=asked.why)
    return _detail(pk)


@router.post("alerts/{int:pk}/assign", response=AlertDetail, auth=TRIAGE)
def assign(request: HttpRequest, pk: int, asked: Assign) -> AlertGroup:
    """Give it to a person, or to nobody."""
    group = _one(pk)
    people = get_user_model().objects.filter(is_active=True)
    person = one(people, "account", username=asked.to) if asked.to else None
    triage.assign(group=group, to=person, by=caller_of(request), why=asked.why)
    return _detail(pk)


@router.post("alerts/{int:pk}/note", response=AlertDetail, auth=TRIAGE)
def note(request: HttpRequest, pk: int, asked: Note) -> AlertGroup:
    """Add a remark to its history."""
    triage.note(group=_one(pk), text=asked.text, by=caller_of(request))
    return _detail(pk)


@router.post("alerts/{int:pk}/link", response=AlertDetail, auth=TRIAGE)
def link(request: HttpRequest, pk: int, asked: Issue) -> AlertGroup:
    """Link an issue or a pull request."""
    triage.link_issue(group=_one(pk), url=asked.url, title=asked.title, by=caller_of(request))
    return _detail(pk)


def _check(asked: Mapping[str, str]) -> None:
    """Raise PlanError for a filter's value that there is not, with what is near it."""
    known = alerts.choices() if asked else {}
    for name, value in asked.items():
        require_known(name, [value], known[name])


def _one(pk: int) -> AlertGroup:
    return one(AlertGroup.objects.all(), "alert", pk=pk)


def _detail(pk: int) -> AlertGroup:
    return one(alert_page.groups().annotate(series=Count("alerts")), "alert", pk=pk)
