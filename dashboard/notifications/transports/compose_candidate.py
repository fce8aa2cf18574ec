"""The message of a release candidate's comparison, model by model."""

from dataclasses import asdict, dataclass
from datetime import datetime
from typing import Any

from django.template.loader import render_to_string

from dashboard.comparisons.core.candidate_verdicts import WHAT_IT_MEANS, CandidateVerdicts
from dashboard.judgement.changes import SetVerdict
from dashboard.judgement.words import ORDER, TONES
from dashboard.language.moments import stamp
from dashboard.notifications.transports.compose import SCHEMA
from dashboard.notifications.transports.message import Message

_MOST_SUBJECT = 200
_MOST_MODELS = 30  # of one word, with their reasons
_MOST_SENTENCES = 2
# As on the site's light pages
_COLOURS = {"bad": "#9a3b00", "none": "#12161c", "good": "#07578f"}
Section = tuple[SetVerdict, str, list[dict[str, Any]], int]


@dataclass(frozen=True, slots=True)
class CandidateEntry:
    """One comparison that has ended. url: absolute, of its page. differences: what else differs
    between the builds, in words; empty for nothing.
    """

    base: str
    new: str
    machine: str
    track: str | None
    url: str
    differences: str
    verdicts: CandidateVerdicts

    @property
    def subject(self) -> str:
        return f"PyTorch {self.new} on {self.machine}: {self.verdicts.text}"[:_MOST_SUBJECT]

    @property
    def document(self) -> dict[str, Any]:
        """As in webhook.v1.json."""
        fields = {name: getattr(self, name) for name in ("base", "new", "machine", "track")}
        models = [asdict(model) for model in self.verdicts.models]
        return {
            **fields,
            "differences": self.differences,
            "text": self.verdicts.text,
            "why_none": self.verdicts.why_none,
            "models": models,
        }


def candidate_message(entry: CandidateEntry, at: datetime) -> Message:
    """at: when it had ended."""
    context = {
        "subject": entry.subject,
        "entry": entry,
        "sections": _sections(entry.verdicts),
        "meaning": WHAT_IT_MEANS,
        "footer": f"Sent by Compilewatch for a comparison that had ended at "
        f"{stamp(at)}. Rules about release candidates say who is notified.",
    }
    document = {
        "schema": SCHEMA,
        "kind": "candidate",
        "subject": entry.subject,
        "url": entry.url,
        "at": at.isoformat(timespec="seconds"),
        "alerts": [],
        "candidate": entry.document,
    }
    return Message(
        subject=entry.subject,
        text=render_to_string("notifications/candidate.txt", context).strip(),
        html=render_to_string("notifications/candidate.html", context),
        url=entry.url,
        document=document,
    )


def _sections(verdicts: CandidateVerdicts) -> list[Section]:
    """The words that occur, each with its colour, its models and how many more there are."""
    sections = []
    for verdict in ORDER:
        models = verdicts.of(verdict)
        if models:
            shown = []
            for model in models[:_MOST_MODELS]:
                sentences = model.sentences[:_MOST_SENTENCES]
                why = " ".join(sentences)
                shown.append({"title": model.title, "sentences": sentences, "why": why})
            colour = _COLOURS[TONES.get(verdict, "none")]
            sections.append((verdict, colour, shown, len(models) - len(shown)))
    return sections
