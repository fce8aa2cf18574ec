"""Tables as files that people open elsewhere: CSV that no spreadsheet takes for formulas, and
Markdown. Pure.
"""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A CSV table. A text that a spreadsheet would run as a formula gets an apostrophe (OWASP, "CSV
    Injection").
    """
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(header)
    writer.writerows([harmless(cell) for cell in row] for row in rows)
    return file.getvalue()


def harmless(cell: Any) -> Any:
    """Numbers stay numbers; text that begins like a formula is marked as text."""
    return f"'{cell}" if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS) else cell


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in GitHub's Markdown, without its blank lines around."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    """Text that neither ends its cell nor is taken for mark-up."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())
