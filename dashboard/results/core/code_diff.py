"""Differences between the generated code of two jobs, for people to read.

Pure: archives in, lines out.

The suite packs what the compiler wrote as `kind/number.suffix`, numbered by content: names say
nothing. So files that are the same without comments, paths and hashes are dropped, and of the rest
each new one is compared with the old one that it is most like.
"""

import difflib
import re
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from dashboard.results.core.untrusted import archived_files

ARCHIVE = "generated-code.tar.xz"
MOST_BYTES = 32 * 2**20  # unpacked, of each side
_MOST_FILES = 24  # of each kind and side that are compared
_MOST_LINES = 400  # of one file's difference
_MOST_COMPARED = 5000  # lines of one file: the time that a comparison takes grows with their square
_MOST_COMPARED_IN_ALL = 2 * _MOST_FILES * _MOST_COMPARED
_CONTEXT = 3
_NOISE = (
    # Blanks of one line: over several, the time would grow with the square of empty lines
    (re.compile(r"^[^\S\n]*(#|//).*$", re.M), ""),
    (re.compile(r"^[^\S\n]*\.(loc|file|section)\b.*$", re.M), ""),
    (re.compile(r"/[\w.+-]+(?:/[\w.+-]+)+"), "PATH"),
    (re.compile(r"\bc[a-z2-7]{51}\b|\b[0-9a-fA-F]{32,64}\b|\b[A-Z2-7]{52}\b"), "HASH"),
    (re.compile(r"\b0x[0-9a-f]{8,}\b"), "ADDRESS"),
    (re.compile(r"\n\s*\n+"), "\n"),
)


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that differs, is new or is gone.

    lines: a unified difference; left_out: how many more lines it has.
    """

    kind: str
    what: str  # changed, new, gone
    lines: Sequence[str]
    left_out: int


def code_files(archive: bytes) -> dict[str, str]:
    """File name -> text of the generated code. Raises Refused."""
    return archived_files(archive, "generated code", MOST_BYTES)


def normalized_files(archive: bytes) -> dict[str, str]:
    """As `code_files`, without comments, paths and hashes. Raises Refused."""
    return {name: normalized(text) for name, text in code_files(archive).items()}


def normalized(text: str) -> str:
    """The text without what differs between two compilations of the same thing."""
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text.strip()


def file_diffs(old: dict[str, str], new: dict[str, str]) -> list[FileDiff]:
    """Compare two sides file by file: changed files first, wrappers before kernels."""
    olds, news = _by_kind(old), _by_kind(new)
    diffs: list[FileDiff] = []
    lines_left = _MOST_COMPARED_IN_ALL
    for kind in sorted({*olds, *news}, key=lambda kind: (kind != "wrapper", kind)):
        before, after = olds[kind], news[kind]
        same = before & after
        removed = [_lines(text) for text in (before - same).elements()][:_MOST_FILES]
        added = [_lines(text) for text in (after - same).elements()][:_MOST_FILES]
        lines = sum(map(len, removed + added))
        lines_left -= lines
        if lines_left >= 0:
            diffs += _kind_diffs(kind, removed, added)
        elif lines:
            diffs.append(FileDiff(kind, "changed", [], lines))
    return sorted(diffs, key=lambda diff: diff.what != "changed")


def diff_text(diff: FileDiff) -> str:
    """The difference of one file under a line that says which and what."""
    lines = [f"# {diff.kind}: {diff.what}", *diff.lines]
    if diff.left_out:
        lines.append(f"# {diff.left_out} more lines")
    return "\n".join(lines) + "\n"


def _by_kind(texts: dict[str, str]) -> defaultdict[str, Counter[str]]:
    kinds: defaultdict[str, Counter[str]] = defaultdict(Counter)
    for name, text in texts.items():
        kinds[name.partition("/")[0]][text] += 1
    return kinds


def _lines(text: str) -> list[str]:
    return text.splitlines()[:_MOST_COMPARED]


def _kind_diffs(kind: str, old: list[list[str]], new: list[list[str]]) -> list[FileDiff]:
    """Each new file against the remaining old one that it is most like."""
    diffs = []
    remaining = [(Counter(lines), lines) for lines in old]
    for after in new:
        if not remaining:
            diffs.append(_file_diff(kind, "new", [], after))
            continue
        counted = Counter(after)
        # By the share of lines that both have
        likeness = [
            (counted & others).total() / (len(after) + len(before)) for others, before in remaining
        ]
        _, nearest = remaining.pop(likeness.index(max(likeness)))
        diffs.append(_file_diff(kind, "changed", nearest, after))
    for _, lines in remaining:
        diffs.append(_file_diff(kind, "gone", lines, []))
    return diffs


def _file_diff(kind: str, what: str, before: list[str], after: list[str]) -> FileDiff:
    unified = difflib.unified_diff(before, after, "before", "after", lineterm="", n=_CONTEXT)
    lines = list(unified)[2:]  # without the two lines of file names
    return FileDiff(kind, what, lines[:_MOST_LINES], max(len(lines) - _MOST_LINES, 0))
