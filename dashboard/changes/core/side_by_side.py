"""A unified difference as two columns of lines. Pure."""

from collections.abc import Sequence
from typing import NamedTuple


class CodeRow(NamedTuple):
    """A line of either side. kind: same, changed, or the place where a hunk begins."""

    before: str
    after: str
    kind: str


def side_by_side(lines: Sequence[str]) -> list[CodeRow]:
    """Set what was removed next to what was added in its place."""
    rows: list[CodeRow] = []
    removed: list[str] = []
    added: list[str] = []
    for line in [*lines, "@@"]:
        if line.startswith("-"):
            removed.append(line[1:])
        elif line.startswith("+"):
            added.append(line[1:])
        else:
            for place in range(max(len(removed), len(added))):
                before = removed[place] if place < len(removed) else ""
                after = added[place] if place < len(added) else ""
                rows.append(CodeRow(before, after, "changed"))
            removed, added = [], []
            text = line[1:]
            is_place = line.startswith("@")
            rows.append(CodeRow(line, "", "place") if is_place else CodeRow(text, text, "same"))
    return rows[:-1]
