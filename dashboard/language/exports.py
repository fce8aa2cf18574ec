"""Tables for other programs: CSV, safe from formulas in spreadsheets, and Markdown. Pure."""

import csv
import io
from collections.abc import Iterable, Sequence
from typing import Any

_FORMULA_STARTS = ("=", "+", "-", "@", "\t", "\r")


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """A CSV table; text that a spreadsheet would run as a formula is marked ("CSV injection")."""
    file = io.StringIO()
    writer = csv.writer(file)
    writer.writerow(header)
    for row in rows:
        writer.writerow([harmless(cell) for cell in row])
    return file.getvalue()


def harmless(cell: Any) -> Any:
    """Numbers stay numbers; text that begins like a formula gets an apostrophe."""
    if isinstance(cell, str) and cell.startswith(_FORMULA_STARTS):
        return f"'{cell}"
    return cell


def markdown_table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """A table in GitHub's Markdown, without the blank lines around it."""
    lines = []
    for row in (header, ["---"] * len(header), *rows):
        cells = " | ".join(_cell(cell) for cell in row)
        lines.append(f"| {cells} |")
    return "\n".join(lines)


def _cell(text: str) -> str:
    """Text that neither ends its cell nor is read as mark-up."""
    for character in "\\`*_[]<>|":
        text = text.replace(character, f"\\{character}")
    return " ".join(text.split())
