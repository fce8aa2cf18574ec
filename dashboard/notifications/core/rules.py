"""Which events a rule wants to hear of, and when its digests are due. Pure: no ORM, no clock."""

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime, time, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

When = Literal["daily", "weekly"]

USUAL_STATES = frozenset({"confirmed", "recovered"})
# a note or an assignment is for those who look at the page
TOLD_ACTIONS = frozenset({"opened", "state"})
_SEVERITIES = ("low", "medium", "high")


@dataclass(frozen=True, slots=True)
class EventFacts:
    """An event and its group as rules see them.

    state: after the event. was_confirmed: the group has been confirmed before, or is with this
        event.
    effect_percent: the largest change of the group in percent; None where it has none in percent: a
        status, a count.
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
    """What a rule wants. Empty collections want all; empty states want USUAL_STATES."""

    families: Collection[str] = ()
    models: Collection[str] = ()
    metrics: Collection[str] = ()
    machines: Collection[int] = ()
    tracks: Collection[int] = ()
    minimum_effect_percent: float = 0.0
    minimum_severity: str = "low"
    states: Collection[str] = ()
    improvements: bool = False


def wants(wanted: RuleSelection, facts: EventFacts) -> bool:
    """Whether the rule wants to be told.

    What never was confirmed recovers unheard, unless the rule asks for suspicions, too: it was told
    of none.
    """
    if facts.action not in TOLD_ACTIONS or facts.state not in (wanted.states or USUAL_STATES):
        return False
    if facts.state == "recovered" and not facts.was_confirmed and "suspected" not in wanted.states:
        return False
    if facts.direction == "improvement" and not wanted.improvements:
        return False
    if _SEVERITIES.index(facts.severity) < _SEVERITIES.index(wanted.minimum_severity):
        return False
    if facts.effect_percent is not None and facts.effect_percent < wanted.minimum_effect_percent:
        return False
    return _fits(wanted, facts)


def _fits(wanted: RuleSelection, facts: EventFacts) -> bool:
    """Each choice that was made is met by one of the group's series at least."""
    return (
        _meets(wanted.families, facts.families)
        and _meets(wanted.models, facts.models)
        and _meets(wanted.metrics, facts.metrics)
        and (not wanted.machines or facts.machine in wanted.machines)
        and (not wanted.tracks or facts.track in wanted.tracks)
    )


def _meets(wanted: Collection[str], found: Collection[str]) -> bool:
    return not wanted or any(one in found for one in wanted)


def last_due(now: datetime, when: When, at: time, zone: str, weekday: int = 0) -> datetime:
    """The latest moment, not after ``now``, at which a digest is due: ``at`` o'clock in ``zone``.

    weekday: of a weekly digest, 0 is Monday. A time that the clock skips in spring counts as the
        moment after it.
    """
    local = now.astimezone(ZoneInfo(zone))
    day = local.date()
    if when == "weekly":
        day -= timedelta(days=(day.weekday() - weekday) % 7)
    due = datetime.combine(day, at, ZoneInfo(zone))
    if due > local:
        due = datetime.combine(
            day - timedelta(days=7 if when == "weekly" else 1), at, ZoneInfo(zone)
        )
    return due.astimezone(now.tzinfo)
