"""Actions of people on alerts: each is one form, needs the permission, and calls one service.

What is not possible comes back as a message on the page that asked.
"""

from collections.abc import Callable
from datetime import timedelta
from typing import TypeVar, cast

from django.contrib import messages
from django.contrib.auth import get_user_model
from django.contrib.auth.decorators import permission_required
from django.contrib.auth.models import User
from django.core.exceptions import ValidationError
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, QueryDict
from django.shortcuts import redirect
from django.utils import timezone
from django.views.decorators.http import require_POST

from dashboard.alerts.pages.alerts import BULK_MOVES, TRIAGE
from dashboard.alerts.services import assignments, triage
from dashboard.alerts.services.collecting import collect
from dashboard.alerts.services.remeasuring import measure_again
from dashboard.language.errors import ActionNotAllowed
from dashboard.language.reading import read_moment, read_numbers
from dashboard.models import AlertGroup, AlertState, InvalidPoint, Job, Series, TorchBuild
from dashboard.ui.pages.parameters import own_address
from dashboard.ui.rows import one

Row = TypeVar("Row", bound=Model)
Act = Callable[[AlertGroup, QueryDict, User], str]
MOVED = {
    AlertState.ACKNOWLEDGED: "Acknowledged.",
    AlertState.FIXED: "Marked fixed.",
    AlertState.WONTFIX: "Marked won't fix.",
    AlertState.INVALID: "Marked as not a regression.",
}
DAY_LETTERS = len("2026-12-31")
may_triage = permission_required(TRIAGE, raise_exception=True)


def move(group: AlertGroup, form: QueryDict, by: User) -> str:
    to = form.get("to", "")
    if to not in AlertState.values:
        raise ActionNotAllowed(f"There is no state “{to}”: use the buttons of the page.")
    triage.move(group=group, to=AlertState(to), by=by, why=form.get("why", ""))
    return MOVED[AlertState(to)]


def again(group: AlertGroup, form: QueryDict, by: User) -> str:
    measure_again(group=group, by=by, why=form.get("why", ""), now=timezone.now())
    return "Measuring again; this page shows the new pairs as they come."


def collect_evidence(group: AlertGroup, form: QueryDict, by: User) -> str:
    collect(group=group, by=by, now=timezone.now())
    return "Collecting evidence: both builds run once more, behind everything else."


def assign(group: AlertGroup, form: QueryDict, by: User) -> str:
    name = by.username if form.get("mine") else form.get("to", "")
    person = get_user_model().objects.filter(username=name, is_active=True).first()
    if name and person is None:
        raise ActionNotAllowed(f"There is no account “{name}” that can sign in.")
    assignments.assign(group=group, to=person, by=by, why=form.get("why", ""))
    return f"Assigned to {person}." if person else "Unassigned."


def hand_over(group: AlertGroup, form: QueryDict, by: User) -> str:
    people = get_user_model().objects.filter(is_active=True)
    person = people.filter(username=form.get("to", "")).first()
    if person is None:
        raise ActionNotAllowed("Choose who takes it over.")
    assignments.hand_over(group=group, to=person, by=by, note=form.get("note", ""))
    return f"Handed over to {person}."


def note(group: AlertGroup, form: QueryDict, by: User) -> str:
    triage.note(group=group, text=form.get("text", ""), by=by)
    return "Note added to the history."


def link(group: AlertGroup, form: QueryDict, by: User) -> str:
    url, title = form.get("url", ""), form.get("title", "")
    issue = triage.link_issue(group=group, url=url, title=title, by=by)
    return f"Linked {issue.url}."


def nudge(group: AlertGroup, form: QueryDict, by: User) -> str:
    build = _row(TorchBuild.objects.all(), form.get("to"), "build")
    triage.move_change_point(group=group, to=build, by=by, why=form.get("why", ""))
    return f"The change now begins with {build}."


def split(group: AlertGroup, form: QueryDict, by: User) -> str:
    chosen = group.alerts.filter(pk__in=read_numbers(form.getlist("alert")))
    split_off = triage.split(alerts=chosen, by=by, why=form.get("why", ""))
    return f"Split off as alert {split_off.pk}."


def merge(group: AlertGroup, form: QueryDict, by: User) -> str:
    into = _row(AlertGroup.objects.all(), form.get("into"), "alert")
    triage.merge(group=group, into=into, by=by, why=form.get("why", ""))
    return f"Merged into alert {into.pk}."


def invalidate(group: AlertGroup, form: QueryDict, by: User) -> str:
    series = _series_of(group, form)
    job = _row(Job.objects.all(), form.get("job"), "job")
    triage.mark_invalid(series=series, job=job, reason=form.get("reason", ""), by=by)
    return "The point is excluded; the series is judged again within a minute."


def bring_back(group: AlertGroup, form: QueryDict, by: User) -> str:
    points = InvalidPoint.objects.filter(series__alerts__group=group)
    triage.bring_back(point=_row(points, form.get("point"), "invalid point"))
    return "The point counts again; the series is judged again within a minute."


def mute(group: AlertGroup, form: QueryDict, by: User) -> str:
    try:
        day = read_moment(form.get("until", "")[:DAY_LETTERS], timezone.get_current_timezone())
    except ValueError:
        raise ActionNotAllowed("Say until which day, as 2026-12-31.") from None
    until = day + timedelta(days=1)
    series = _series_of(group, form)
    triage.mute(series=series, until=until, reason=form.get("reason", ""), by=by)
    return f"The series raises no alert until the end of {day.date()}."


def unmute(group: AlertGroup, form: QueryDict, by: User) -> str:
    triage.unmute(series=_series_of(group, form))
    return "The series raises alerts again."


ACTS: dict[str, Act] = {
    "move": move,
    "again": again,
    "collect-evidence": collect_evidence,
    "assign": assign,
    "hand-over": hand_over,
    "note": note,
    "link": link,
    "nudge": nudge,
    "split": split,
    "merge": merge,
    "invalidate": invalidate,
    "bring-back": bring_back,
    "mute": mute,
    "unmute": unmute,
}


@require_POST
@may_triage
def act(request: HttpRequest, pk: int, name: str) -> HttpResponse:
    """One act on one group; afterwards its page again."""
    if name not in ACTS:
        raise Http404(f"There is no act “{name}”.")
    group = one(AlertGroup.objects.all(), "alert", pk=pk)
    by = cast(User, request.user)
    try:
        messages.success(request, ACTS[name](group, request.POST, by))
    except ActionNotAllowed as refusal:
        messages.error(request, str(refusal))
    return redirect(group)


@require_POST
@may_triage
def bulk(request: HttpRequest) -> HttpResponse:
    """One act on every chosen group; afterwards the inbox as it was filtered."""
    keys = read_numbers(request.POST.getlist("group"))
    groups = list(AlertGroup.objects.filter(pk__in=keys).order_by("pk"))
    done, refused = _on_each(groups, request.POST, cast(User, request.user))
    if not groups:
        messages.error(request, "Select alerts first: the boxes at the left, or the key x.")
    if done:
        messages.success(request, f"Done with {done} of {len(groups)}.")
    for refusal in refused:
        messages.error(request, refusal)
    return redirect(own_address(request.POST.get("back", ""), "/alerts/"))


def _on_each(groups: list[AlertGroup], form: QueryDict, by: User) -> tuple[int, list[str]]:
    """Apply the act to each group; return how many it was done to, and what was refused."""
    refused = []
    if form.get("act") == "merge" and len(groups) < 2:
        return 0, ["Select two alerts or more to merge them."]
    for group in groups:
        try:
            _bulk_act(group, groups[0], form, by)
        except ActionNotAllowed as refusal:
            refused.append(str(refusal))
    return len(groups) - len(refused), refused


def _bulk_act(group: AlertGroup, oldest: AlertGroup, form: QueryDict, by: User) -> None:
    what, why = form.get("act", ""), form.get("why", "")
    if what in BULK_MOVES:
        triage.move(group=group, to=AlertState(what), by=by, why=why)
    elif what == "mine":
        assignments.assign(group=group, to=by, by=by, why=why)
    elif what != "merge":
        raise ActionNotAllowed(f"There is no act “{what}”: use the buttons of the page.")
    elif group != oldest:
        triage.merge(group=group, into=oldest, by=by, why=why)


def _series_of(group: AlertGroup, form: QueryDict) -> Series:
    series = Series.objects.filter(alerts__group=group).distinct()
    return _row(series, form.get("series"), "series of this alert")


def _row(rows: QuerySet[Row], key: str | None, what: str) -> Row:
    """The row with this key. Raises ActionNotAllowed where there is none."""
    try:
        row = rows.filter(pk=key or None).first()
    except (ValueError, TypeError, ValidationError):
        row = None
    if row is None:
        raise ActionNotAllowed(f"There is no such {what} any more: open the page again.")
    return row
