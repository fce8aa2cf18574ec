"""What `make up` says to a person: one line each, coloured on a terminal."""

import os
import sys
import threading
from contextlib import suppress
from datetime import datetime

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92)
RED, BOLD = 31, 1
OWN_NAME = "compilewatch"
_lock = threading.Lock()


def say(text: str, *, name: str = OWN_NAME, colour: int | None = BOLD) -> None:
    """Print `text` with the time and the name of the process that it is from, whole lines at a
    time.
    """
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    for line in text.splitlines() or [""]:
        with _lock, suppress(OSError):  # the terminal may be gone before we are
            print(_painted(f"{clock} {name:<12} |", colour), line, flush=True)  # noqa: T201


def complain(text: str) -> None:
    """Print what went wrong, in red on a terminal."""
    say(text, colour=RED)


def _painted(text: str, colour: int | None) -> str:
    if colour is None or not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{colour}m{text}\033[0m"
