"""How the generated code of two jobs differs, for people to read. Pure: archives in, lines out.

The suite packs what the compiler wrote as `kind/number.suffix`, numbered by content: names say
nothing. So files that are the same without comments, paths and hashes are dropped, and of the rest
each new one is compared with the old one that it is most like.
"""

import difflib
import io
import lzma
import re
import tarfile
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

ARCHIVE = "generated-code.tar.xz"
MOST_BYTES = 32 * 2**20  # unpacked, of each side
_MOST_FILES = 24  # of each kind and side that are compared
_MOST_LINES = 400  # of one file's difference
_MOST_COMPARED = 5000  # lines of one file: the time that a comparison takes grows with their square
_CONTEXT = 3
_NOISE = (
    (re.compile(r"^\s*(#|//).*$", re.M), ""),
    (re.compile(r"^\s*\.(loc|file|section)\b.*$", re.M), ""),
    (re.compile(r"/[\w.+-]+(?:/[\w.+-]+)+"), "PATH"),
    (re.compile(r"\bc[a-z2-7]{51}\b|\b[0-9a-fA-F]{32,64}\b|\b[A-Z2-7]{52}\b"), "HASH"),
    (re.compile(r"\b0x[0-9a-f]{8,}\b"), "ADDRESS"),
    (re.compile(r"\n\s*\n+"), "\n"),
)


class UnreadableArchive(ValueError):
    """The archive cannot be read; the text says why."""


@dataclass(frozen=True, slots=True)
class FileDiff:
    """One file that differs, is new or is gone.

    lines: a unified difference; left_out: how many more lines it has.
    """

    kind: str
    what: str  # changed, new, gone
    lines: Sequence[str]
    left_out: int


def normalized_files(archive: bytes) -> dict[str, str]:
    """As `archived_files`, without comments, paths and hashes. Raises UnreadableArchive."""
    return {name: normalized(text) for name, text in archived_files(archive).items()}


def archived_files(
    archive: bytes, what: str = "generated code", most_bytes: int = MOST_BYTES
) -> dict[str, str]:
    """File name -> text of an archive. Raises UnreadableArchive.

    what: what the archive has, in words. most_bytes: unpacked.
    """
    texts = {}
    room = most_bytes
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:xz") as files:
            for entry in files:
                room -= entry.size + tarfile.BLOCKSIZE  # the block, so that many empty files end
                if room < 0:
                    raise UnreadableArchive(f"The {what} is larger than {most_bytes // 2**20} MiB.")
                body = files.extractfile(entry) if entry.isfile() else None
                if body is not None:
                    texts[entry.name] = body.read().decode(errors="replace")
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise UnreadableArchive(f"The archive of the {what} cannot be read: {error}") from None
    return texts


def normalized(text: str) -> str:
    """The text without what differs between two compilations of the same thing."""
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text.strip()


def file_diffs(old: dict[str, str], new: dict[str, str]) -> list[FileDiff]:
    """What differs between two sides, changed files first, wrappers before kernels."""
    kinds = {name.partition("/")[0] for name in [*old, *new]}
    diffs: list[FileDiff] = []
    for kind in sorted(kinds, key=lambda kind: (kind != "wrapper", kind)):
        before, after = Counter(_of_kind(old, kind)), Counter(_of_kind(new, kind))
        same = before & after
        removed, added = [*(before - same).elements()], [*(after - same).elements()]
        diffs += _kind_diffs(kind, removed, added)
    return sorted(diffs, key=lambda diff: diff.what != "changed")


def diff_text(diff: FileDiff) -> str:
    """The difference of one file under a line that says which and what."""
    lines = [f"# {diff.kind}: {diff.what}", *diff.lines]
    if diff.left_out:
        lines.append(f"# {diff.left_out} more lines")
    return "\n".join(lines) + "\n"


def _of_kind(texts: dict[str, str], kind: str) -> list[str]:
    return [text for name, text in texts.items() if name.partition("/")[0] == kind]


def _kind_diffs(kind: str, old: list[str], new: list[str]) -> list[FileDiff]:
    """Each new file against the remaining old one that it is most like."""
    diffs = []
    remaining = old[:_MOST_FILES]
    for text in new[:_MOST_FILES]:
        nearest = max(remaining, key=lambda other: _likeness(other, text), default=None)
        if nearest is None:
            diffs.append(_file_diff(kind, "new", "", text))
        else:
            remaining.remove(nearest)
            diffs.append(_file_diff(kind, "changed", nearest, text))
    for text in remaining:
        diffs.append(_file_diff(kind, "gone", text, ""))
    return diffs


def _likeness(text: str, other: str) -> float:
    """0 to 1: the share of lines that both have."""
    lines, others = Counter(text.splitlines()), Counter(other.splitlines())
    return 2 * (lines & others).total() / max(lines.total() + others.total(), 1)


def _file_diff(kind: str, what: str, old: str, new: str) -> FileDiff:
    before, after = old.splitlines()[:_MOST_COMPARED], new.splitlines()[:_MOST_COMPARED]
    unified = difflib.unified_diff(before, after, "before", "after", lineterm="", n=_CONTEXT)
    lines = list(unified)[2:]  # without the two lines of file names
    return FileDiff(kind, what, lines[:_MOST_LINES], max(len(lines) - _MOST_LINES, 0))
