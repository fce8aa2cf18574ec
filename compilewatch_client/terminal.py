"""Output of the command: tables and progress for people, JSON for programs.

Answers go to stdout; progress and errors to stderr, so that a pipe gets the answer alone.
What a site sends was written by many: it is printed without mark-up and control characters.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table
from rich.text import Text

from compilewatch_client.api_types import BisectionDocument, ComparisonDocument, RunDocument
from dashboard.language.plain_text import plain, plain_json

Followed = TypeVar("Followed", RunDocument, ComparisonDocument, BisectionDocument)

ShowProgress = Callable[[int, int, str], None]

POLL_INTERVAL_S = 2.0
PIPE_WIDTH = 200  # columns, where there is no terminal to ask


def print_json(document: Any) -> None:
    text = json.dumps(document, indent=1, ensure_ascii=False)
    sys.stdout.write(plain_json(text) + "\n")


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()
) -> None:
    """numbers: columns that are aligned to the right."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(plain(cell)) for cell in row))
    width = None if sys.stdout.isatty() else PIPE_WIDTH
    Console(width=width, highlight=False).print(table)


def print_text(text: str) -> None:
    """A line of the answer."""
    sys.stdout.write(f"{plain(text)}\n")


def print_note(text: str) -> None:
    """Print how far it is, or an address to look at meanwhile."""
    sys.stderr.write(f"{plain(text)}\n")


def format_number(value: float | None, unit: str = "") -> str:
    """Four digits with the unit; a dash for none."""
    return "–" if value is None else f"{value:.4g} {unit}".rstrip()


def format_time(text: str | None) -> str:
    """A time of the API as the site's pages write it: "22 Nov 2026, 16:53 UTC"."""
    if not text:
        return "–"
    at = datetime.fromisoformat(text).astimezone(UTC)
    return f"{at.day} {at:%b %Y, %H:%M} UTC"


@contextmanager
def progress(description: str) -> Iterator[ShowProgress]:
    """A function that shows how many of how many are done, and a note, on stderr: as a bar on a
    terminal, else in a line whenever one more is done.
    """
    if not sys.stderr.isatty():
        yield _progress_lines(description)
        return
    columns = [
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    ]
    with Progress(*columns, console=Console(stderr=True, highlight=False)) as bar:
        task = bar.add_task(plain(description), total=None, note="")
        yield lambda done, total, note: bar.update(
            task, completed=done, total=total, note=plain(note)
        )


def _progress_lines(description: str) -> ShowProgress:
    shown = 0

    def show(done: int, total: int, note: str) -> None:
        nonlocal shown
        if done > shown:
            shown = done
            print_note(f"{description}, {done} of {total}: {note}".removesuffix(": "))

    return show


def follow(fetch: Callable[[], Followed], sleep: Callable[[float], None] = time.sleep) -> Followed:
    """Fetch again until it has ended, and show how far it is."""
    document = fetch()
    with progress(document["label"] or "measuring") as show:
        while True:
            jobs = document["jobs"]
            ended = jobs["passed"] + jobs["failed"] + jobs["cancelled"]
            show(ended, jobs["total"], _note(document))
            if not document["is_active"]:
                return document
            sleep(POLL_INTERVAL_S)
            document = fetch()


def _note(document: RunDocument | ComparisonDocument | BisectionDocument) -> str:
    notes = []
    if failed := document["jobs"]["failed"]:
        notes.append(f"{failed} not passed")
    if seconds := document["seconds_left"]:
        notes.append(f"about {seconds / 60:.0f} min left")
    return ", ".join(notes)
