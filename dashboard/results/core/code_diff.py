"""How the generated code of two jobs differs, for people to read. Pure: archives in, lines out.

The suite packs what the compiler wrote as `kind/number.suffix`, numbered by content: names say
nothing. So files that are the same once comments, paths and hashes are out are dropped, and of the
rest each new one is set against the old one that it is most like.
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
_MOST_FILES = 24  # of each kind and side that are set against each other
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
    """One file that differs, is new or is gone. lines: a unified difference; left_out: how many
    more there are.
    """

    kind: str
    what: str  # changed, new, gone
    lines: Sequence[str]
    left_out: int


def normalized_files(archive: bytes) -> dict[str, str]:
    """File name -> text of an archive of generated code, comments, paths and hashes left out.
    Raises Unreadable.
    """
    return {name: normalized(text) for name, text in archived_files(archive).items()}


def archived_files(archive: bytes) -> dict[str, str]:
    """File name -> text of an archive of generated code, as the compiler wrote it. Raises
    Unreadable.
    """
    texts: dict[str, str] = {}
    room = MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:xz") as files:
            for entry in files:
                room -= entry.size + tarfile.BLOCKSIZE  # so that many empty files end, too
                if room < 0:
                    raise UnreadableArchive(
                        f"The generated code is larger than {MOST_BYTES // 2**20} MiB."
                    )
                body = files.extractfile(entry) if entry.isfile() else None
                if body is not None:
                    texts[entry.name] = body.read().decode(errors="replace")
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise UnreadableArchive(f"The archive of generated code cannot be read: {error}") from None
    return texts


def normalized(text: str) -> str:
    """The text without what differs between two compilations of the same thing."""
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text.strip()


def file_diffs(old: dict[str, str], new: dict[str, str]) -> list[FileDiff]:
    """What differs between two sides, changed files first, wrappers before kernels."""
    found: list[FileDiff] = []
    for kind in sorted(
        {name.partition("/")[0] for name in [*old, *new]},
        key=lambda kind: (kind != "wrapper", kind),
    ):
        before, after = _of_kind(old, kind), _of_kind(new, kind)
        same = Counter(before) & Counter(after)
        found += _kind_diff(
            kind,
            list((Counter(before) - same).elements()),
            list((Counter(after) - same).elements()),
        )
    return sorted(found, key=lambda one: one.what != "changed")


def _of_kind(texts: dict[str, str], kind: str) -> list[str]:
    return [text for name, text in texts.items() if name.partition("/")[0] == kind]


def _kind_diff(kind: str, old: list[str], new: list[str]) -> list[FileDiff]:
    found = []
    left = old[:_MOST_FILES]
    for text in new[:_MOST_FILES]:
        nearest = max(left, key=lambda other: _likeness(other, text), default=None)
        if nearest is None:
            found.append(_file_diff(kind, "new", "", text))
        else:
            left.remove(nearest)
            found.append(_file_diff(kind, "changed", nearest, text))
    return [*found, *(_file_diff(kind, "gone", text, "") for text in left)]


def _likeness(one: str, other: str) -> float:
    """0 to 1: the share of lines that both have."""
    lines, others = Counter(one.splitlines()), Counter(other.splitlines())
    return 2 * (lines & others).total() / max(lines.total() + others.total(), 1)


def _file_diff(kind: str, what: str, old: str, new: str) -> FileDiff:
    before, after = (text.splitlines()[:_MOST_COMPARED] for text in (old, new))
    lines = difflib.unified_diff(before, after, "before", "after", lineterm="", n=_CONTEXT)
    told = list(lines)[2:]  # without the two lines of file names
    return FileDiff(kind, what, told[:_MOST_LINES], max(len(told) - _MOST_LINES, 0))
