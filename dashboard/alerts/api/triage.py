"""Alerts, triaged: each act of the page as a call, by the same service, with the same permission
and history.
"""

from uuid import UUID

from django.contrib.auth import get_user_model
from django.http import HttpRequest
from django.utils import timezone
from ninja import Field, Router, Schema

from dashboard.accounts.access import TRIAGE, caller_of
from dashboard.alerts.api.alerts import AlertDetail, detail
from dashboard.alerts.services import triage
from dashboard.alerts.services.remeasuring import measure_again
from dashboard.models import AlertGroup, AlertState, InvalidPoint, Job, Series, TorchBuild
from dashboard.ui.api.parameters import Id, Moment, Name, Text, one

router = Router(auth=TRIAGE, tags=["alerts"])


class Why(Schema):
    why: Text = Field("", description="Kept in the history.")


class Move(Why):
    to: AlertState


class Assign(Why):
    to: Name | None = Field(description="The name of an account; null for nobody.")


class Note(Schema):
    text: str = Field(min_length=1, max_length=10_000, pattern=r"^[^\x00]*$")


class Issue(Schema):
    url: Name = Field(max_length=500)
    title: Text = Field("", max_length=200)


class Nudge(Why):
    to: Name = Field(description="The label of the build with which the change began.")


class Split(Why):
    changes: list[Id] = Field(max_length=1_000, description="Ids of some of the group's changes.")


class Merge(Why):
    into: Id = Field(description="The id of the alert that takes the changes.")


class Invalidate(Schema):
    series: Id = Field(description="The id of one of the group's series.")
    job: UUID
    reason: Name


class BringBack(Schema):
    point: Id = Field(description="The id of one of the group's invalid points.")


class MuteFor(Schema):
    series: Id = Field(description="The id of one of the group's series.")
    until: Moment
    reason: Text = ""


class Unmute(Schema):
    series: Id = Field(description="The id of one of the group's series.")


@router.post("alerts/{int:pk}/move", response=AlertDetail)
def move(request: HttpRequest, pk: int, asked: Move) -> AlertGroup:
    """Acknowledge it, close it, reopen it."""
    triage.move(group=_one(pk), to=asked.to, by=caller_of(request), why=asked.why)
    return detail(pk)


@router.post("alerts/{int:pk}/again", response=AlertDetail)
def again(request: HttpRequest, pk: int, asked: Why) -> AlertGroup:
    """Measure both builds in turn again, now."""
    measure_again(group=_one(pk), by=caller_of(request), why=asked.why, now=timezone.now())
    return detail(pk)


@router.post("alerts/{int:pk}/assign", response=AlertDetail)
def assign(request: HttpRequest, pk: int, asked: Assign) -> AlertGroup:
    """Give it to a person, or to nobody."""
    group = _one(pk)
    people = get_user_model().objects.filter(is_active=True)
    person = one(people, "account", username=asked.to) if asked.to else None
    triage.assign(group=group, to=person, by=caller_of(request), why=asked.why)
    return detail(pk)


@router.post("alerts/{int:pk}/note", response=AlertDetail)
def note(request: HttpRequest, pk: int, asked: Note) -> AlertGroup:
    """Add a remark to its history."""
    triage.note(group=_one(pk), text=asked.text, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/link", response=AlertDetail)
def link(request: HttpRequest, pk: int, asked: Issue) -> AlertGroup:
    """Link an issue or a pull request."""
    triage.link_issue(group=_one(pk), url=asked.url, title=asked.title, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/nudge", response=AlertDetail)
def nudge(request: HttpRequest, pk: int, asked: Nudge) -> AlertGroup:
    """Say that the change began with another build of the track."""
    group = _one(pk)
    build = one(TorchBuild.objects.all(), "build", label=asked.to)
    triage.move_change_point(group=group, to=build, by=caller_of(request), why=asked.why)
    return detail(pk)


@router.post("alerts/{int:pk}/split", response=AlertDetail)
def split(request: HttpRequest, pk: int, asked: Split) -> AlertGroup:
    """Move some of its changes into an alert of their own, which is answered."""
    chosen = _one(pk).alerts.filter(pk__in=asked.changes)
    return detail(triage.split(alerts=chosen, by=caller_of(request), why=asked.why).pk)


@router.post("alerts/{int:pk}/merge", response=AlertDetail)
def merge(request: HttpRequest, pk: int, asked: Merge) -> AlertGroup:
    """Move all its changes into another alert, which is answered; the emptied one is closed as
    invalid.
    """
    group, into = _one(pk), _one(asked.into)
    return detail(triage.merge(group=group, into=into, by=caller_of(request), why=asked.why).pk)


@router.post("alerts/{int:pk}/invalidate", response=AlertDetail)
def invalidate(request: HttpRequest, pk: int, asked: Invalidate) -> AlertGroup:
    """Take a job's point out of detection; the series is judged anew within a minute."""
    series, job = _series(pk, asked.series), one(Job.objects.all(), "job", pk=asked.job)
    triage.mark_invalid(series=series, job=job, reason=asked.reason, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/bring-back", response=AlertDetail)
def bring_back(request: HttpRequest, pk: int, asked: BringBack) -> AlertGroup:
    """Let a point count again; the series is judged anew within a minute."""
    points = InvalidPoint.objects.filter(series__alerts__group=_one(pk)).distinct()
    triage.bring_back(point=one(points, "invalid point of this alert", pk=asked.point))
    return detail(pk)


@router.post("alerts/{int:pk}/mute", response=AlertDetail)
def mute(request: HttpRequest, pk: int, asked: MuteFor) -> AlertGroup:
    """Let a series raise no alert until a moment."""
    series = _series(pk, asked.series)
    triage.mute(series=series, until=asked.until, reason=asked.reason, by=caller_of(request))
    return detail(pk)


@router.post("alerts/{int:pk}/unmute", response=AlertDetail)
def unmute(request: HttpRequest, pk: int, asked: Unmute) -> AlertGroup:
    """Let a series raise alerts again."""
    triage.unmute(series=_series(pk, asked.series))
    return detail(pk)


def _one(pk: int) -> AlertGroup:
    return one(AlertGroup.objects.all(), "alert", pk=pk)


def _series(group: int, pk: int) -> Series:
    return one(
        Series.objects.filter(alerts__group=_one(group)).distinct(), "series of this alert", pk=pk
    )
