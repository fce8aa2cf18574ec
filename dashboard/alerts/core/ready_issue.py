"""The text of an issue for PyTorch: facts in, title and Markdown out. Pure.

Its headings are those that PyTorch's form for torch.compile leaves in an issue
(.github/ISSUE_TEMPLATE/pt2-bug-report.yml). The form's fields have no ids, so that no address can
fill them in; GitHub's blank issue takes title and body from the address.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlencode

LONGEST_URL = 8000  # characters; GitHub answers 414 somewhat above 8 kB
LONGEST_TITLE = 250
_CUT = "\n_Shortened to fit into the link: {titles}. The whole text is {place}._\n"
_IN_ARCHIVE = "in the evidence's archive, as issue.md"
BUG, LOGS, VERSIONS = "🐛 Describe the bug", "Error logs", "Versions"


class VersionRow(NamedTuple):
    """One fact of the environment, on either side."""

    name: str
    base: str
    new: str


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """What the issue says. Sentences are Markdown; empty: left out.

    page: the alert's address; empty where others cannot open it.
    others: further series of the alert.
    error: what a failed job said.
    missing: what the report cannot say, with why.
    """

    title: str
    summary: str
    page: str
    how_sure: Sequence[str]
    others: Sequence[str]
    cause: Sequence[str]
    ruled_out: Sequence[str]
    since: Sequence[str]
    commands: Sequence[str]
    error: str
    versions: Sequence[VersionRow]
    links: Sequence[str]
    missing: Sequence[str]


@dataclass(frozen=True, slots=True)
class Section:
    """A part of the text under a heading of the form. rank: what is left out first has most."""

    heading: str
    title: str
    text: str
    rank: int

    @property
    def markdown(self) -> str:
        return f"**{self.title}**\n\n{self.text}\n" if self.title else f"{self.text}\n"


@dataclass(frozen=True, slots=True)
class ReadyIssue:
    """The title, and the sections in their order."""

    title: str
    page: str
    sections: Sequence[Section]

    @property
    def body(self) -> str:
        return _markdown(self.sections)

    @property
    def place(self) -> str:
        """Where the whole text is."""
        return f"on {self.page}" if self.page else _IN_ARCHIVE


@dataclass(frozen=True, slots=True)
class IssueAddress:
    """Where GitHub opens the filled-in issue. left_out: titles of what was too long for it."""

    url: str
    left_out: Sequence[str]


def write(facts: IssueFacts) -> ReadyIssue:
    """The issue; of each section only what there is something to say about."""
    sections = [
        Section(BUG, "", facts.summary, 0),
        Section(BUG, "How sure", _bullets(facts.how_sure), 1),
        Section(BUG, "To reproduce", _commands(facts.commands), 2),
        Section(BUG, "Since which build", _bullets(facts.since), 3),
        Section(BUG, "What points at the cause", _bullets(facts.cause), 5),
        Section(BUG, "What was ruled out", _bullets(facts.ruled_out), 4),
        Section(BUG, "What else changed with it", _bullets(facts.others), 9),
        Section(BUG, "Not known", _bullets(facts.missing), 8),
        Section(BUG, "Links", _bullets(facts.links), 6),
        Section(LOGS, "", _fenced(facts.error) or "No error was recorded.", 7),
        Section(VERSIONS, "", _version_table(facts.versions), 4),
    ]
    written = [section for section in sections if section.text]
    return ReadyIssue(_cut(facts.title, LONGEST_TITLE), facts.page, written)


def address(issue: ReadyIssue, repository: str, longest: int = LONGEST_URL) -> IssueAddress:
    """The address that opens the issue on GitHub with everything filled in; nothing is posted.

    What makes it longer than GitHub takes is left out by rank, and the text says so. Without
    labels: an address that sets them answers 404 to who may not.
    """
    kept = list(issue.sections)
    left_out: list[Section] = []
    while True:
        titles = [section.title or section.heading for section in left_out]
        body = _markdown(kept)
        if titles:
            body += _CUT.format(titles=", ".join(titles), place=issue.place)
        url = _new_issue(repository, issue.title, body)
        if len(url) <= longest or len(kept) == 1:
            break
        least = max(kept, key=lambda section: section.rank)
        kept.remove(least)
        left_out.append(least)
    if len(url) > longest:
        url = _new_issue(repository, issue.title, f"The whole text is {issue.place}.\n")
    return IssueAddress(url, titles)


def _new_issue(repository: str, title: str, body: str) -> str:
    query = urlencode({"title": title, "body": body})
    return f"https://github.com/{repository}/issues/new?{query}"


def _markdown(sections: Sequence[Section]) -> str:
    lines: list[str] = []
    heading = ""
    for section in sections:
        if section.heading != heading:
            heading = section.heading
            lines.append(f"### {heading}\n")
        lines.append(section.markdown)
    return "\n".join(lines)


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _commands(commands: Sequence[str]) -> str:
    return "```sh\n" + "\n".join(commands) + "\n```" if commands else ""


def _fenced(text: str) -> str:
    """As code; a fence within the text cannot end it."""
    return f"````\n{text.strip().replace('````', '')}\n````" if text.strip() else ""


def _version_table(rows: Sequence[VersionRow]) -> str:
    if not rows:
        return ""
    lines = ["| | base | new |", "|---|---|---|"]
    for row in rows:
        lines.append(f"| {row.name} | {_cell(row.base)} | {_cell(row.new)} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|") or "not known"


def _cut(text: str, longest: int) -> str:
    return text if len(text) <= longest else text[: longest - 1] + "…"
