"""Messages about alert groups: subject, text, HTML and the webhook's document."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.template.loader import render_to_string

from dashboard.language.moments import day, stamp
from dashboard.notifications.transports.message import IMAGE_NAME, Message

SCHEMA = "webhook.v1"
_MOST_LINES = 8  # series of a group that a mail lists
_MOST_SUBJECT = 200


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """One series that changed. text: a sentence; the other fields as in webhook.v1.json."""

    benchmark: str
    config: str
    metric: str
    direction: str
    effect: float | None
    low: float | None
    high: float | None
    unit: str
    text: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One alert group for messages.

    state: after the event, either of evidence or of workflow. why: the event's text. url: absolute.
    news: what happened where it did not move: Handed over, Assigned.
    """

    id: int
    url: str
    title: str
    kind: str
    state: str
    evidence_state: str
    workflow_state: str
    direction: str
    severity: str
    cause: str
    cause_in_words: str
    evidence: Sequence[dict[str, str]]
    machine: str | None
    track: str | None
    base: str | None
    new: str | None
    commits: str
    reproduce: str
    series: Sequence[SeriesLine]
    why: str = ""
    news: str = ""
    assignee: str | None = None

    @property
    def is_improvement(self) -> bool:
        return self.direction == "improvement"

    @property
    def subject(self) -> str:
        """The title after the news, the severity of a confirmed group, or the state of another
        one. What got better has no severity that anybody would have to answer.
        """
        if self.is_improvement:
            beginning = f"Improvement, {(self.news or _spaced(self.state)).lower()}:"
        elif self.news:
            beginning = f"{self.news} [{self.severity}]:"
        elif self.state == "confirmed":
            beginning = f"[{self.severity}]"
        else:
            beginning = f"{_spaced(self.state).capitalize()}:"
        return f"{beginning} {self.title}"[:_MOST_SUBJECT]

    @property
    def document(self) -> dict[str, Any]:
        """The group as in webhook.v1.json."""
        fields = asdict(self)
        del fields["cause_in_words"], fields["why"]
        return fields


@dataclass(frozen=True, slots=True)
class OpenAlert:
    """One alert group that is still open, for a digest. url: absolute. opened_at: ISO 8601."""

    id: int
    url: str
    title: str
    severity: str
    state: str
    assignee: str | None
    opened_at: str

    @property
    def text(self) -> str:
        """ "high severity, confirmed, assigned to ada, opened 27 Nov 2026"."""
        owner = f"assigned to {self.assignee}" if self.assignee else "unassigned"
        opened = day(datetime.fromisoformat(self.opened_at))
        return f"{self.severity} severity, {_spaced(self.state)}, {owner}, opened {opened}"


def event_message(entry: Entry, at: datetime, image: bytes | None) -> Message:
    """The message about one event of one group."""
    return _message(
        kind="event",
        subject=entry.subject,
        url=entry.url,
        at=at,
        entries=[entry],
        footer=f"Sent by Compilewatch for an event of {stamp(at)}. Rules say who is notified.",
        image=image,
    )


def digest_message(
    rule: str,
    entries: Sequence[Entry],
    still_open: Sequence[OpenAlert],
    period: tuple[datetime, datetime],
    url: str,
) -> Message:
    """Everything that a rule reports of a period, and what else is open."""
    start, at = period
    count = f"{len(entries)} new, {len(still_open)} still open"
    return _message(
        kind="digest",
        subject=f"{rule}: {count}",
        url=url,
        at=at,
        entries=entries,
        still_open=still_open,
        intro=f"{count}, from {stamp(start)} to {stamp(at)}.",
        footer=f"Sent by Compilewatch by the rule “{rule}”.",
    )


def test_message(channel: str, at: datetime, url: str) -> Message:
    """The message that “Send a test” sends."""
    return _message(
        kind="test",
        subject="Compilewatch: a test",
        url=url,
        at=at,
        entries=[],
        intro=f"This is a test of the channel “{channel}”. Nothing has changed anywhere.",
        footer=f"Sent by hand from {url}",
    )


def _message(
    *,
    kind: str,
    subject: str,
    url: str,
    at: datetime,
    entries: Sequence[Entry],
    footer: str,
    image: bytes | None = None,
    **shown: Any,
) -> Message:
    """shown: what else the templates show: intro, still_open."""
    groups = [_template_values(entry, has_image=image is not None) for entry in entries]
    context = {
        "subject": subject,
        "groups": groups,
        "footer": footer,
        "image": IMAGE_NAME,
        "url": url,
        **shown,
    }
    document = {
        "schema": SCHEMA,
        "kind": kind,
        "subject": subject,
        "url": url,
        "at": at.isoformat(timespec="seconds"),
        "alerts": [entry.document for entry in entries],
    }
    if kind == "digest":
        document["open"] = [asdict(alert) for alert in shown["still_open"]]
    return Message(
        subject=subject,
        text=render_to_string("notifications/message.txt", context).strip(),
        html=render_to_string("notifications/message.html", context),
        url=url,
        document=document,
        image=image,
    )


def _template_values(entry: Entry, *, has_image: bool) -> dict[str, Any]:
    """Return the values of a group that the templates show."""
    has_two_builds = entry.base and entry.new and entry.base != entry.new
    kind = _spaced(entry.direction)
    if not entry.is_improvement:
        kind = f"{entry.severity} severity, {kind}"
    why_theirs = ", for information" if entry.is_improvement else ""
    return {
        "title": entry.title,
        "url": entry.url,
        "state": _spaced(entry.state).capitalize(),
        "kind": kind,
        "where": ", ".join(part for part in (entry.machine, entry.track) if part),
        "why": entry.why,
        "owned": f"Assigned to {entry.assignee}{why_theirs}." if entry.assignee else "",
        "lines": [change.text for change in entry.series[:_MOST_LINES]],
        "more": max(len(entry.series) - _MOST_LINES, 0),
        "builds": f"{entry.base} → {entry.new}" if has_two_builds else "",
        "commits": entry.commits,
        "cause": entry.cause_in_words,
        "evidence": [fact["says"] for fact in entry.evidence],
        "reproduce": entry.reproduce,
        "reproduce_words": entry.reproduce.split(" "),
        "has_image": has_image,
    }


def _spaced(word: str) -> str:
    return word.replace("_", " ")
