"""Alerts, triaged: each act of the page as a call of the same service, with the same permission."""

from uuid import UUID

from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router

from dashboard.accounts.access import TRIAGE, caller_of
from dashboard.alerts.api.alerts import AlertDetail, detail
from dashboard.alerts.services import assignments, triage
from dashboard.alerts.services.collecting import collect
from dashboard.alerts.services.remeasuring import measure_again
from dashboard.models import AlertGroup, AlertState, InvalidPoint, Job, Series, TorchBuild
from dashboard.ui.api.parameters import Id, Moment, Name, Text
from dashboard.ui.api.schemas import Request
from dashboard.ui.rows import one

router = Router(auth=TRIAGE, tags=["alerts"])


class Why(Request):
    why: Text = Field("", description="Kept in the history.")


class Move(Why):
    to: AlertState = Field(description="One of `possible` of the alert.")


class Assign(Why):
    to: Name | None = Field(description="The name of an account; null for nobody.")


class HandOver(Request):
    to: Name = Field(description="The name of an account.")
    note: Name = Field(max_length=2_000, description="Where it stands, and what comes next.")


class Note(Request):
    text: str = Field(
        min_length=1, max_length=10_000, pattern=r"^[^\x00]*$", description="The remark."
    )


class Issue(Request):
    url: Name = Field(max_length=500)
    title: Text = Field("", max_length=200, description="Shown for the address; may be empty.")


class Nudge(Why):
    to: Name = Field(description="The label of the build with which the change began.")


class Split(Why):
    changes: list[Id] = Field(max_length=1_000, description="Ids of some of the group's changes.")


class Merge(Why):
    into: Id = Field(description="The id of the alert that takes the changes.")


class Invalidate(Request):
    series: Id = Field(description="The id of one of the group's series.")
    job: UUID
    reason: Name = Field(description="Why it does not count; kept in the history.")


class BringBack(Request):
    point: Id = Field(description="The id of one of the group's invalid points.")


class MuteFor(Request):
    series: Id = Field(description="The id of one of the group's series.")
    until: Moment
    reason: Text = Field("", description="Why; kept in the history.")


class Unmute(Request):
    series: Id = Field(description="The id of one of the group's series.")


@router.post("alerts/{int:pk}/move", response=AlertDetail)
def move(request: HttpRequest, pk: int, body: Move) -> AlertGroup:
    """Acknowledge it, close it, reopen it."""
    triage.move(group=_group(pk), to=body.to, by=caller_of(request), why=body.why)
    return detail(pk)


@router.post("alerts/{int:pk}/again", response=AlertDetail)
def again(request: HttpRequest, pk: int, body: Why) -> AlertGroup:
    """Measure both builds in turn again, now."""
    measure_again(group=_group(pk), by=caller_of(request), why=body.why, now=timezone.now())
    return detail(pk)


@router.post("alerts/{int:pk}/collect-evidence", response=AlertDetail)
def collect_evidence(request: HttpRequest, pk: int) -> AlertGroup:
    """Collect the compiler's trace and log of both builds, behind everything else."""
    collect(group=_group(pk), by=caller_of(request), now=timezone.now())
    return detail(pk)


@router.post("alerts/{int:pk}/assign", response=AlertDetail)
def assign(request: HttpRequest, pk: int, body: Assign) -> AlertGroup:
    """Give it to a person, or to nobody."""
    group, by = _group(pk), caller_of(request)
    people = get_user_model().objects.filter(is_active=True)
    person = one(people, "active account", username=body.to) if body.to else None
    assignments.assign(group=group, to=person, by=by, why=body.why)
    return detail(pk)


@router.post("alerts/{int:pk}/hand-over", response=AlertDetail)
def hand_over(request: HttpRequest, pk: int, body: HandOver) -> AlertGroup:
    """Give it from the person who has it to another one; both are notified."""
    people = get_user_model().objects.filter(is_active=True)
    to = one(people, "active account", username=body.to)
    assignments.hand_over(group=_group(pk), to=to, by=caller_of(request), note=body.note)
    return detail(pk)


@router.post("alerts/{int:pk}/note", response=AlertDetail)
def note(request: HttpRequest, pk: int, body: Note) -> AlertGroup:
    """Add a remark to its history."""
    triage.note(group=_group(pk), text=body.text, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/link", response=AlertDetail)
def link(request: HttpRequest, pk: int, body: Issue) -> AlertGroup:
    """Link an issue or a pull request."""
    triage.link_issue(group=_group(pk), url=body.url, title=body.title, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/nudge", response=AlertDetail)
def nudge(request: HttpRequest, pk: int, body: Nudge) -> AlertGroup:
    """Say that the change began with another build of the track."""
    group, by = _group(pk), caller_of(request)
    build = one(TorchBuild.objects.all(), "torch build", label=body.to)
    triage.move_change_point(group=group, to=build, by=by, why=body.why)
    return detail(pk)


@router.post("alerts/{int:pk}/split", response=AlertDetail)
def split(request: HttpRequest, pk: int, body: Split) -> AlertGroup:
    """Move some of its changes into an alert of their own, which is answered."""
    chosen = _group(pk).alerts.filter(pk__in=body.changes)
    split_off = triage.split(alerts=chosen, by=caller_of(request), why=body.why)
    return detail(split_off.pk)


@router.post("alerts/{int:pk}/merge", response=AlertDetail)
def merge(request: HttpRequest, pk: int, body: Merge) -> AlertGroup:
    """Move all its changes into another alert, which is answered; the emptied one is closed as
    invalid.
    """
    group, into = _group(pk), _group(body.into)
    merged = triage.merge(group=group, into=into, by=caller_of(request), why=body.why)
    return detail(merged.pk)


@router.post("alerts/{int:pk}/invalidate", response=AlertDetail)
def invalidate(request: HttpRequest, pk: int, body: Invalidate) -> AlertGroup:
    """Take a job's point out of detection; the series is judged again within a minute."""
    series = _series(pk, body.series)
    job = one(Job.objects.all(), "job", pk=body.job)
    triage.mark_invalid(series=series, job=job, reason=body.reason, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/bring-back", response=AlertDetail)
def bring_back(request: HttpRequest, pk: int, body: BringBack) -> AlertGroup:
    """Let a point count again; the series is judged again within a minute."""
    points = InvalidPoint.objects.filter(series__alerts__group=_group(pk)).distinct()
    point = one(points, "invalid point of this alert with the number", _detail(pk), pk=body.point)
    triage.bring_back(point=point)
    return detail(pk)


@router.post("alerts/{int:pk}/mute", response=AlertDetail)
def mute(request: HttpRequest, pk: int, body: MuteFor) -> AlertGroup:
    """Let a series raise no alert until a moment."""
    series = _series(pk, body.series)
    by = caller_of(request)
    triage.mute(series=series, until=body.until, reason=body.reason, by=by)
    return detail(pk)


@router.post("alerts/{int:pk}/unmute", response=AlertDetail)
def unmute(request: HttpRequest, pk: int, body: Unmute) -> AlertGroup:
    """Let a series raise alerts again."""
    triage.unmute(series=_series(pk, body.series))
    return detail(pk)


def _group(pk: int) -> AlertGroup:
    return one(AlertGroup.objects.all(), "alert", pk=pk)


def _series(group: int, pk: int) -> Series:
    series = Series.objects.filter(alerts__group=_group(group)).distinct()
    return one(series, "series of this alert with the number", _detail(group), pk=pk)


def _detail(pk: int) -> str:
    """Where an alert's own series and points are listed."""
    return f"`GET alerts/{pk}`"
