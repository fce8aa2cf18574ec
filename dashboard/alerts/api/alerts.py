"""Alerts, read with the inbox's filters."""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Literal
from uuid import UUID

from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Query, Router, Schema
from ninja.pagination import paginate

from dashboard.accounts.access import READ
from dashboard.alerts.selectors import alert_page, alerts, facts, inbox
from dashboard.alerts.selectors.alerts import AlertSummary
from dashboard.alerts.services import triage
from dashboard.catalog.core.plan import require_known
from dashboard.models import AlertGroup
from dashboard.ui.api.paging import Pages
from dashboard.ui.api.parameters import Name, Text
from dashboard.ui.api.schemas import Answer, DetectedChange, Paged
from dashboard.ui.rows import one

router = Router(auth=READ, tags=["alerts"])


class AlertFilter(Schema):
    """As on the page: without any state the open ones, without a direction no improvements; `all`
    for everything.
    """

    state: Name | None = Field(
        None,
        description="Evidence or workflow in one word: suspected, confirming, confirmed, "
        "acknowledged, fixed, wontfix, invalid, not_reproduced, inconclusive, recovered, "
        "missing_report, or all. Left out: open ones.",
    )
    evidence_state: Name | None = None
    workflow_state: Name | None = Field(
        None,
        description="What people make of it: new, acknowledged, fixed, wontfix or invalid.",
    )
    severity: Name | None = None
    cause: Name | None = Field(
        None,
        description="Likely cause: compiler, eager, machine, library, benchmark or unknown.",
    )
    direction: Name | None = Field(
        None,
        description="regression, improvement, trade_off, neutral, or all. Left out: all but "
        "improvements.",
    )
    kind: Name | None = Field(
        None, description="step, drift, status, environment or silence (nothing was reported)."
    )
    machine: Name | None = None
    track: Name | None = None
    family: Name | None = None
    assignee: Name | None = Field(None, description="Name of an account, or nobody.")
    opened: Literal["day", "week", "release"] | None = Field(
        None,
        description="Opened in the last 24 hours, the last 7 days, or since the newest release "
        "was first run here.",
    )
    q: Text = Field(
        "",
        description="Words that must all be found: parts of a model's, benchmark's, config's, "
        "metric's, cause's, machine's or new build's name, or of the title.",
        examples=["gpt2 latency"],
    )


class AlertOut(Paged):
    """Every series that changed with the same likely cause."""

    id: int = Field(description="Number of the alert, as in its address.")
    title: str = Field(description="As people read it; without an interval.")
    kind: str = Field(description="step, drift, status, environment or silence.")
    state: str = Field(description="The workflow; while that is new, the evidence.")
    evidence_state: str = Field(
        description="How sure it is. suspected: a detector saw it, nobody measured it again. "
        "confirmed: both builds were measured again in turn, and it was there."
    )
    workflow_state: str = Field(description="What people make of it.")
    direction: str = Field(description="regression, improvement, trade_off or neutral.")
    severity: str
    cause: str = Field(description="Likely cause; unknown without positive evidence.")
    cause_in_words: str = Field(description="The same for people.")
    sentence: str = Field(
        description="The change that stands for the alert, with its 95% interval; empty where "
        "nothing was measured."
    )
    machine: str | None = Field(None, alias="machine.key")
    track: str | None = Field(None, alias="track.key")
    base: str | None = Field(
        None, alias="base.label", description="The last build without the change."
    )
    new: str | None = Field(None, alias="new.label", description="The first build with it.")
    assignee: str | None = Field(
        None, alias="assignee.username", description="Null: nobody has it."
    )
    series: int = Field(
        description="Number of series that changed, without those that were withdrawn."
    )
    created_at: datetime = Field(description="When it was opened; ISO 8601.")
    closed_at: datetime | None = Field(description="Null while it is open.")

    @staticmethod
    def resolve_sentence(group: AlertGroup) -> str:
        main = alerts.main_of(_changes(group))
        return main.sentence if main else ""

    @staticmethod
    def resolve_cause_in_words(group: AlertGroup) -> str:
        return facts.cause_in_words(group)


class Change(DetectedChange):
    """One series of the group: new minus base, once it is confirmed as the confirmation measured
    it.
    """

    id: int = Field(alias="alert.pk", description="Number of the change: what `split` takes.")
    series: int = Field(alias="alert.series_id", description="Number of the series.")
    benchmark: str = Field(alias="alert.series.benchmark.name")
    config: str = Field(alias="alert.series.config.name")
    metric: str = Field(alias="alert.series.metric")
    level_before: float | None = Field(
        None,
        alias="alert.levels.0",
        description="As the detector first estimated it, in the metric's unit; null where it was "
        "not kept, and for a status.",
    )
    level_after: float | None = Field(
        None, alias="alert.levels.1", description="The same after the change, in the metric's unit."
    )
    confirmation: str = Field(
        alias="alert.confirmation",
        description="What measuring this series again showed: confirmed, not_reproduced or "
        "inconclusive; empty: it was not measured again.",
    )
    smaller: bool = Field(
        alias="alert.is_smaller",
        description="Confirmed, but less than half of the first estimate.",
    )
    withdrawn: bool = Field(
        alias="alert.is_withdrawn",
        description="Its points were judged again, as after some were excluded, and no longer "
        "show it.",
    )
    first_effect: float | None = Field(
        alias="alert.effect", description="As the detector first estimated it, in `unit`."
    )


class Event(Answer):
    at: datetime
    by: str | None = Field(None, alias="by.username", description="Null: the system.")
    action: str = Field(description="What was done: opened, moved, noted, …")
    state: str = Field(description="The alert's state afterwards.")
    text: str = Field(description="Why, or the note; written by a person or by the system.")


class Link(Schema):
    url: str = Field(description="Of an issue or a pull request.")
    title: str = Field(description="As whoever linked it wrote it; may be empty.")


class Muted(Answer):
    series: int = Field(alias="series_id", description="Number of the series.")
    until: datetime = Field(description="From then on it raises alerts again.")
    reason: str = Field(description="As whoever muted it wrote it.")
    by: str | None = Field(None, alias="by.username", description="Null: the system.")


class LeftOut(Answer):
    """A point that a person took out of detection."""

    id: int = Field(alias="pk", description="Number of the point: what `bring-back` takes.")
    series: int = Field(alias="series_id", description="Number of the series.")
    job: UUID = Field(alias="job_id")
    reason: str = Field(description="As whoever took it out wrote it.")
    by: str | None = Field(None, alias="by.username", description="Null: the system.")


class AlertDetail(AlertOut):
    """An alert with all that its page lists. How sure it is and what caused it, in sentences: `GET
    alerts/{pk}/evidence`.
    """

    changes: list[Change] = Field(
        description="Every series of the alert: what got worse first, then what was measured "
        "again, then by size; last what did not come again when it was, and what was withdrawn."
    )
    evidence: list[dict[str, Any]] = Field(
        description="What was looked at for the cause: `fact` (which), `says` (in words), "
        "`supports` (the cause that it speaks for; empty: none)."
    )
    events: list[Event] = Field(description="Its history, oldest first.")
    links: list[Link] = Field(description="Issues and pull requests that people linked.")
    mutes: list[Muted] = Field(description="Which of its series raise no alerts now.")
    invalid_points: list[LeftOut] = Field(description="Points that people took out of detection.")
    commit_range: str = Field(
        description="Address of PyTorch's commits between the two builds; empty: not known."
    )
    possible: list[str] = Field(description="What a person can move it to now, as `to` of `move`.")

    @staticmethod
    def resolve_changes(group: AlertGroup) -> Sequence[AlertSummary]:
        return _changes(group)

    @staticmethod
    def resolve_events(group: AlertGroup) -> Sequence[Any]:
        return alert_page.events(group)

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
    """Alerts, the newest first: without filters, what is open and got worse. Each is a group of
    series that changed with the same likely cause.
    """
    filters = {name: value for name, value in chosen.model_dump().items() if value}
    choices = inbox.FIXED_CHOICES
    if not filters.keys() <= choices.keys():
        choices = inbox.choices(chosen.machine or "", chosen.track or "")
    for name in filters.keys() & choices.keys():
        require_known(name, [filters[name]], choices[name])
    groups = alerts.with_counts(inbox.listing(filters, timezone.now()))
    return alerts.with_alerts(groups)


@router.get("alerts/{int:pk}", response=AlertDetail)
def show(request: HttpRequest, pk: int) -> AlertGroup:
    """One alert with its series, the evidence for its cause, and its history."""
    return detail(pk)


def detail(pk: int) -> AlertGroup:
    groups = alerts.with_alerts(alerts.with_counts(alert_page.groups()))
    return one(groups, "alert", pk=pk)


def _changes(group: AlertGroup) -> list[AlertSummary]:
    """group: of `with_alerts`."""
    return alerts.in_order(map(alerts.summarize, group.alerts.all()))


def _series(group: AlertGroup) -> list[int]:
    return list(group.alerts.values_list("series_id", flat=True))
