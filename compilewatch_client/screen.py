"""What the command shows: tables and progress for people, JSON for programs.

Answers go to stdout; progress and errors to stderr, so that a pipe gets the answer alone.
"""

import json
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from contextlib import AbstractContextManager
from datetime import datetime
from typing import Any, TypeVar

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeElapsedColumn
from rich.table import Table

from compilewatch_client.documents import Bisection, Comparison, Run

Followed = TypeVar("Followed", Run, Comparison, Bisection)

LOOK_EVERY_S = 2.0
PIPE_WIDTH = 200  # columns, where there is no terminal to ask


def out() -> Console:
    return Console(width=None if sys.stdout.isatty() else PIPE_WIDTH, highlight=False)


def err() -> Console:
    return Console(stderr=True, highlight=False)


def as_json(document: Any) -> None:
    sys.stdout.write(json.dumps(document, indent=1, ensure_ascii=False) + "\n")


def table(
    header: Sequence[str], rows: Iterable[Sequence[str]], *, numbers: Sequence[str] = ()
) -> None:
    """numbers: columns that are set to the right."""
    made = Table(box=None, header_style="bold", pad_edge=False)
    for name in header:
        made.add_column(name, justify="right" if name in numbers else "left", overflow="fold")
    for row in rows:
        made.add_row(*row)
    out().print(made)


def say(text: str) -> None:
    """A line of the answer, without mark-up."""
    out().print(text, markup=False, soft_wrap=True)


def number(value: float | None, unit: str = "") -> str:
    """Four digits with the unit; a dash for none."""
    return "–" if value is None else f"{value:.4g} {unit}".rstrip()


def moment(text: str | None) -> str:
    """A time of the API as day and minute, in this machine's zone."""
    return datetime.fromisoformat(text).astimezone().strftime("%Y-%m-%d %H:%M") if text else "–"


def bar() -> Progress:
    """A progress bar on stderr."""
    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    return Progress(
        *columns,
        TextColumn("{task.fields[note]}"),
        console=err(),
        transient=not sys.stderr.isatty(),
    )


def follow(look: Callable[[], Followed], sleep: Callable[[float], None] = time.sleep) -> Followed:
    """Ask again until it has ended, with a bar. Ctrl-C stops looking, not measuring."""
    with bar() as shown:
        now = look()
        task = shown.add_task(now["label"] or "measuring", total=now["jobs"]["total"], note="")
        while True:
            jobs = now["jobs"]
            ended = jobs["passed"] + jobs["failed"] + jobs["cancelled"]
            shown.update(task, completed=ended, total=jobs["total"], note=_note(now))
            if not now["is_active"]:
                return now
            sleep(LOOK_EVERY_S)
            now = look()


def _note(now: Run | Comparison | Bisection) -> str:
    failed = f"{now['jobs']['failed']} not passed" if now["jobs"]["failed"] else ""
    left = f"about {now['seconds_left'] / 60:.0f} min left" if now["seconds_left"] else ""
    return ", ".join(filter(None, (failed, left)))


def waiting(text: str) -> AbstractContextManager[object]:
    """A sign of life while something takes seconds."""
    return err().status(text)
