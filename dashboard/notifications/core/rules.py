"""Selection of events by rules, and the times when digests are due. Pure: no ORM, no clock."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

When = Literal["daily", "weekly"]

USUAL_STATES = frozenset({"confirmed", "missing_report", "recovered"})
# What a rule's subjects call each action. Any other, as a note, is for those who look at the page
SUBJECTS = {
    "opened": "alerts",
    "state": "alerts",
    "handed over": "hand_overs",
}
USUAL_SUBJECTS = ("alerts",)
_SEVERITIES = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class EventFacts:
    """An event and its group as rules see them.

    state: after the event.
    was_confirmed: the group has been confirmed, before or with this event.
    effect_percent: the group's largest change; None where it is a status word or a count.
    """

    action: str
    state: str
    was_confirmed: bool
    direction: str
    severity: str
    families: Collection[str]
    models: Collection[str]
    metrics: Collection[str]
    machine: int | None
    track: int | None
    effect_percent: float | None


@dataclass(frozen=True, slots=True)
class RuleSelection:
    """Selection of a rule. An empty collection selects all; empty states mean USUAL_STATES, empty
    subjects USUAL_SUBJECTS.
    """

    subjects: Collection[str] = ()
    families: Collection[str] = ()
    models: Collection[str] = ()
    metrics: Collection[str] = ()
    machines: Collection[int] = ()
    tracks: Collection[int] = ()
    minimum_effect_percent: float = 0.0
    minimum_severity: str = "low"
    states: Collection[str] = ()
    improvements: bool = False


def selects(rule: RuleSelection, event: EventFacts) -> bool:
    """True where the rule notifies of the event. States narrow what moved, not hand-overs."""
    subject = SUBJECTS.get(event.action)
    if subject not in (rule.subjects or USUAL_SUBJECTS):
        return False
    if subject == "alerts" and not _is_of_selected_state(rule, event):
        return False
    if event.direction == "improvement" and not rule.improvements:
        return False
    if _SEVERITIES.index(event.severity) < _SEVERITIES.index(rule.minimum_severity):
        return False
    effect = event.effect_percent
    is_large = effect is None or effect >= rule.minimum_effect_percent
    return is_large and _is_in_scope(rule, event)


def _is_of_selected_state(rule: RuleSelection, event: EventFacts) -> bool:
    """The recovery of a group that never was confirmed is not news, unless the rule also selects
    what is not proven: nobody was notified of the group before.
    """
    if event.state not in (rule.states or USUAL_STATES):
        return False
    if event.action == "opened" and event.state == "wontfix":
        return False  # it was old when it was judged
    return event.state != "recovered" or event.was_confirmed or "suspected" in rule.states


@dataclass(frozen=True, slots=True)
class CandidateFacts:
    """A release candidate's comparison as rules see it."""

    families: Collection[str]
    models: Collection[str]
    machine: int
    track: int | None


def selects_candidate(rule: RuleSelection, candidate: CandidateFacts) -> bool:
    """Test whether the rule notifies of the outcome of a release candidate. Its place and its
    models count; severity, effect, metrics and states are those of alerts.
    """
    return (
        "candidates" in rule.subjects
        and _meets(rule.families, candidate.families)
        and _meets(rule.models, candidate.models)
        and (not rule.machines or candidate.machine in rule.machines)
        and (not rule.tracks or candidate.track in rule.tracks)
    )


def _is_in_scope(rule: RuleSelection, event: EventFacts) -> bool:
    """At least one of the group's series meets each choice that was made."""
    return (
        _meets(rule.families, event.families)
        and _meets(rule.models, event.models)
        and _meets(rule.metrics, event.metrics)
        and (not rule.machines or event.machine in rule.machines)
        and (not rule.tracks or event.track in rule.tracks)
    )


def _meets(selected: Collection[str], present: Collection[str]) -> bool:
    return not selected or not set(selected).isdisjoint(present)


def last_due(now: datetime, when: When, at: time, zone: str, weekday: int = 0) -> datetime:
    """The latest moment, not after ``now``, at which a digest is due: ``at`` o'clock in ``zone``.

    weekday: of a weekly digest, 0 is Monday.
    A time that the clock skips in spring counts as the moment after it.
    """
    day = now.astimezone(ZoneInfo(zone)).date()
    if when == "weekly":
        day -= timedelta(days=(day.weekday() - weekday) % 7)
    due = datetime.combine(day, at, ZoneInfo(zone))
    # In UTC: two times of one zone are compared by their clocks, which may be an hour off
    if due.astimezone(UTC) > now.astimezone(UTC):
        period = timedelta(days=7 if when == "weekly" else 1)
        due = datetime.combine(day - period, at, ZoneInfo(zone))
    return due.astimezone(now.tzinfo)
