"""What the command shows: tables and progress for people, JSON for programs.

Answers go to stdout; progress and errors to stderr, so that a pipe gets the answer alone.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from compilewatch_client.api_types import (
    BisectionDocument,
    ComparisonDocument,
    FactorialDocument,
    RunDocument,
)

Followed = TypeVar(
    "Followed", RunDocument, ComparisonDocument, BisectionDocument, FactorialDocument
)

POLL_INTERVAL_S = 2.0
PIPE_WIDTH = 200  # columns, where there is no terminal to ask


def _stdout() -> Console:
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def _stderr() -> Console:
    return Console(stderr=True, highlight=False)


def print_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def print_table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()
) -> None:
    """numbers: columns that are aligned to the right."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in header:
        table.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*row)
    _stdout().print(table)


def print_text(text: str) -> None:
    """A line of the answer, without mark-up."""
    _stdout().print(text, markup=False, soft_wrap=True)


def print_note(text: str) -> None:
    """An error, or an address to look at meanwhile."""
    _stderr().print(text, markup=False, soft_wrap=True)


def format_number(value: float | None, unit: str = "") -> str:
    """Four digits with the unit; a dash for none."""
    return "–" if value is None else f"{value:.4g} {unit}".rstrip()


def format_time(text: str | None) -> str:
    """A time of the API as day and minute, in this machine's zone."""
    if not text:
        return "–"
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M")


def progress_bar() -> Progress:
    """On stderr."""
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
        TextColumn("{task.fields[note]}"),
        console=_stderr(),
        transient=not sys.stderr.isatty(),
    )


def follow(fetch: Callable[[], Followed], sleep: Callable[[float], None] = time.sleep) -> Followed:
    """Fetch again until it has ended, with a bar. Ctrl-C stops looking, not measuring."""
    with progress_bar() as bar:
        document = fetch()
        total = document["jobs"]["total"]
        task = bar.add_task(document["label"] or "measuring", total=total, note="")
        while True:
            jobs = document["jobs"]
            ended = jobs["passed"] + jobs["failed"] + jobs["cancelled"]
            bar.update(task, completed=ended, total=jobs["total"], note=_note(document))
            if not document["is_active"]:
                return document
            sleep(POLL_INTERVAL_S)
            document = fetch()


def _note(
    document: RunDocument | ComparisonDocument | BisectionDocument | FactorialDocument,
) -> str:
    notes = []
    if failed := document["jobs"]["failed"]:
        notes.append(f"{failed} not passed")
    if seconds := document["seconds_left"]:
        notes.append(f"about {seconds / 60:.0f} min left")
    return ", ".join(notes)
