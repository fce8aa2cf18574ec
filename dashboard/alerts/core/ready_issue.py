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
BUG, LOGS, VERSIONS = "🐛 Describe the bug", "Error logs", "Versions"


class VersionRow(NamedTuple):
    """One fact of the environment, on either side."""

    name: str
    base: str
    new: str


@dataclass(frozen=True, slots=True)
class IssueFacts:
    """Contents of the issue. Sentences are Markdown; empty: left out.

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


@dataclass(frozen=True, slots=True)
class ReadyIssue:
    """The title, and the sections in their order."""

    title: str
    page: str
    sections: Sequence[Section]

    @property
    def body(self) -> str:
        return _markdown(self.sections)


@dataclass(frozen=True, slots=True)
class IssueAddress:
    """Address of the filled-in issue on GitHub. left_out: titles of what was too long for it."""

    url: str
    left_out: Sequence[str]


def write(facts: IssueFacts) -> ReadyIssue:
    """The issue; of each section only what there is something to say about."""
    commands = "\n".join(["```sh", *facts.commands, "```"]) if facts.commands else ""
    # A fence within the text must not end the block
    error = facts.error.strip().replace("````", "")
    sections = [
        Section(BUG, "", facts.summary, 0),
        Section(BUG, "How sure", _bullets(facts.how_sure), 1),
        Section(BUG, "To reproduce", commands, 2),
        Section(BUG, "Since which build", _bullets(facts.since), 3),
        Section(BUG, "What points at the cause", _bullets(facts.cause), 5),
        Section(BUG, "What was ruled out", _bullets(facts.ruled_out), 4),
        Section(BUG, "What else changed with it", _bullets(facts.others), 9),
        Section(BUG, "Not known", _bullets(facts.missing), 8),
        Section(BUG, "Links", _bullets(facts.links), 6),
        Section(LOGS, "", f"````\n{error}\n````" if error else "No error was recorded.", 7),
        Section(VERSIONS, "", _version_table(facts.versions), 4),
    ]
    title = facts.title
    if len(title) > LONGEST_TITLE:
        title = f"{title[: LONGEST_TITLE - 1]}…"
    return ReadyIssue(title, facts.page, [section for section in sections if section.text])


def address(issue: ReadyIssue, repository: str, longest: int = LONGEST_URL) -> IssueAddress:
    """The address that opens the issue on GitHub with everything filled in; nothing is posted.

    What makes it longer than GitHub takes is left out by rank, and the text says so. Without
    labels: an address that sets them answers 404 to who may not.
    """
    place = f"on {issue.page}" if issue.page else "in issue.md, among the report's files"
    kept = list(issue.sections)
    titles: list[str] = []
    body = issue.body
    while len(url := _new_issue(repository, issue.title, body)) > longest and len(kept) > 1:
        least = max(kept, key=lambda section: section.rank)
        kept.remove(least)
        titles.append(least.title or least.heading)
        note = f"_Shortened to fit into the link: {', '.join(titles)}. The whole text is {place}._"
        body = f"{_markdown(kept)}\n{note}\n"
    if len(url) > longest:
        url = _new_issue(repository, issue.title, f"The whole text is {place}.\n")
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
        title = f"**{section.title}**\n\n" if section.title else ""
        lines.append(f"{title}{section.text}\n")
    return "\n".join(lines)


def _bullets(lines: Sequence[str]) -> str:
    return "\n".join(f"- {line}" for line in lines)


def _version_table(rows: Sequence[VersionRow]) -> str:
    lines = ["| | base | new |", "|---|---|---|"]
    for row in rows:
        base, new = (text.replace("|", "\\|") or "not known" for text in (row.base, row.new))
        lines.append(f"| {row.name} | {base} | {new} |")
    return "\n".join(lines) if rows else ""
