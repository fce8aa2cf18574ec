"""Messages from what is known of alert groups: subject, text, HTML and the webhook's document."""

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.template.loader import render_to_string

from dashboard.language.wording import plural
from dashboard.notifications.transports.message import IMAGE_NAME, Message

SCHEMA = "webhook.v1"
_MOST_LINES = 8  # series of a group that a mail lists
_MOST_SUBJECT = 200


@dataclass(frozen=True, slots=True)
class SeriesLine:
    """One series that changed. text: a sentence; the other fields as in notify/webhook.v1.json."""

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
    """One alert group as messages tell it. state: after the event; why: what the event said; url:
    absolute.
    """

    id: int
    url: str
    title: str
    kind: str
    state: str
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

    @property
    def subject(self) -> str:
        """The severity where it counts, else what became of it."""
        told = (
            f"[{self.severity}]"
            if self.state == "confirmed"
            else f"{_spaced(self.state).capitalize()}:"
        )
        return f"{told} {self.title}"[:_MOST_SUBJECT]

    @property
    def document(self) -> dict[str, Any]:
        """It as notify/webhook.v1.json has it."""
        fields = asdict(self)
        del fields["cause_in_words"], fields["why"]
        return fields


def event_message(entry: Entry, at: datetime, image: bytes | None) -> Message:
    """What one event of one group is told as."""
    footer = (
        f"Sent by Compilewatch for an event of {at:%Y-%m-%d %H:%M} UTC. Its rules say who is told."
    )
    return _message("event", entry.subject, entry.url, at, [entry], "", footer, image)


def digest_message(
    rule: str, entries: Sequence[Entry], start: datetime, at: datetime, url: str
) -> Message:
    """Everything that a rule wants to tell of a period."""
    count = plural(len(entries), "alert")
    intro = f"{count} from {start:%Y-%m-%d %H:%M} to {at:%Y-%m-%d %H:%M} UTC."
    return _message(
        "digest",
        f"{rule}: {count}",
        url,
        at,
        entries,
        intro,
        f"Sent by Compilewatch by the rule “{rule}”.",
    )


def test_message(channel: str, at: datetime, url: str) -> Message:
    """What “Send a test” sends."""
    intro = f"This is a test of the channel “{channel}”. Nothing has changed anywhere."
    return _message("test", "Compilewatch: a test", url, at, [], intro, f"Sent by hand from {url}")


def _message(
    kind: str,
    subject: str,
    url: str,
    at: datetime,
    entries: Sequence[Entry],
    intro: str,
    footer: str,
    image: bytes | None = None,
) -> Message:
    shown = [_shown(entry, has_image=image is not None) for entry in entries]
    context = {"groups": shown, "intro": intro, "footer": footer, "image": IMAGE_NAME}
    document = {
        "schema": SCHEMA,
        "kind": kind,
        "subject": subject,
        "url": url,
        "at": at.isoformat(timespec="seconds"),
        "alerts": [entry.document for entry in entries],
    }
    html = render_to_string("notifications/message.html", context)
    text = render_to_string("notifications/message.txt", context)
    return Message(subject, text.strip(), html, url, document, image)


def _shown(entry: Entry, *, has_image: bool) -> dict[str, Any]:
    """What the templates say of a group."""
    changed = entry.base and entry.new and entry.base != entry.new
    return {
        "title": entry.title,
        "url": entry.url,
        "state": _spaced(entry.state).capitalize(),
        "severity": entry.severity,
        "direction": _spaced(entry.direction),
        "where": ", ".join(part for part in (entry.machine, entry.track) if part),
        "why": entry.why,
        "lines": [change.text for change in entry.series[:_MOST_LINES]],
        "more": max(len(entry.series) - _MOST_LINES, 0),
        "builds": f"{entry.base} → {entry.new}" if changed else "",
        "commits": entry.commits,
        "cause": entry.cause_in_words,
        "evidence": [fact["says"] for fact in entry.evidence],
        "reproduce": entry.reproduce,
        "has_image": has_image,
    }


def _spaced(word: str) -> str:
    return word.replace("_", " ")
