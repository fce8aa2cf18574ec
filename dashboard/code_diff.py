"""The difference of two archives of generated code, as people read it: what is equal is left out. Pure.

The archives come from workers and are not trusted: nothing is written to disk, and what is read is limited.
"""

import io
import lzma
import re
import tarfile
from collections.abc import Iterator
from difflib import SequenceMatcher, unified_diff

MOST_FILES, MOST_BYTES = 200, 4 * 1024 * 1024
MOST_LINES = 400
_NOISE = (  # what differs between two compilations of the same thing: comments, paths, hashes, addresses
    (re.compile(r"^\s*(#|//).*$", re.M), ""),
    (re.compile(r"/[\w.+-]+(?:/[\w.+-]+)+"), "PATH"),
    (re.compile(r"\bc[a-z2-7]{51}\b|\b[0-9a-fA-F]{32,64}\b|\b[A-Z2-7]{52}\b"), "HASH"),
    (re.compile(r"\b0x[0-9a-f]{8,}\b"), "ADDRESS"),
    (re.compile(r"\s+$", re.M), ""),
    (re.compile(r"\n+"), "\n"),
)


class Unreadable(ValueError):
    """The archive is none, or larger than what is looked at."""


def difference(before: bytes, after: bytes) -> str:
    """A unified diff of two `generated-code.tar.xz`; "" where they say the same. Raises Unreadable."""
    old, new = files(before), files(after)
    equal = set(old.values()) & set(new.values())
    left = {name: text for name, text in old.items() if text not in equal}
    right = {name: text for name, text in new.items() if text not in equal}
    lines = [line for pair in _paired(left, right) for line in _lines(*pair)]
    if len(lines) > MOST_LINES:
        lines = [*lines[:MOST_LINES], f"… and {len(lines) - MOST_LINES} more lines"]
    return "\n".join(lines)


def files(archive: bytes) -> dict[str, str]:
    """Name -> text of the files, without what differs between two compilations of the same thing."""
    found: dict[str, str] = {}
    room = MOST_BYTES
    try:
        with tarfile.open(fileobj=io.BytesIO(archive), mode="r:xz") as packed:
            for member in packed:
                body = packed.extractfile(member) if member.isfile() else None
                if body is None:
                    continue
                if member.size > room or len(found) >= MOST_FILES:
                    raise Unreadable(f"more than {MOST_FILES} files or {MOST_BYTES} bytes: download the artifacts")
                room -= member.size
                found[member.name] = _plain(body.read(member.size).decode(errors="replace"))
    except (tarfile.TarError, lzma.LZMAError, EOFError, OSError) as error:
        raise Unreadable(f"the archive cannot be read: {error}") from None
    return found


def _plain(text: str) -> str:
    for pattern, replacement in _NOISE:
        text = pattern.sub(replacement, text)
    return text.strip()


def _paired(old: dict[str, str], new: dict[str, str]) -> Iterator[tuple[str, str, str]]:
    """(name, old text, new text): each file with the most similar one of its kind; "" where there is none."""
    remaining = dict(new)
    for name, text in old.items():
        kind = name.partition("/")[0]
        near = [(_alike(text, remaining[other]), other) for other in remaining if other.partition("/")[0] == kind]
        partner = max(near)[1] if near else ""
        yield name, text, remaining.pop(partner, "")
    for name, text in remaining.items():
        yield name, "", text


def _alike(one: str, other: str) -> float:
    return SequenceMatcher(None, one.splitlines(), other.splitlines(), autojunk=False).quick_ratio()


def _lines(name: str, old: str, new: str) -> list[str]:
    return list(unified_diff(old.splitlines(), new.splitlines(), f"before/{name}", f"after/{name}", lineterm="", n=2))
