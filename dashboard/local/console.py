"""What `make up` prints for a person: one line each, coloured on a terminal."""

import os
import sys
import threading
from contextlib import suppress
from datetime import datetime

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92)
RED, BOLD = 31, 1
OWN_NAME = "compilewatch"
_lock = threading.Lock()


def print_info(text: str, *, name: str = OWN_NAME, colour: int | None = BOLD) -> None:
    """Print `text`, whole lines at a time, with the clock and the `name` of its process."""
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    prefix = _coloured(f"{clock} {name:<12} |", colour)
    for line in text.splitlines() or [""]:
        with _lock, suppress(OSError):  # the terminal may be gone before we are
            print(prefix, line, flush=True)  # noqa: T201


def print_error(text: str) -> None:
    """Print what went wrong, in red on a terminal."""
    print_info(text, colour=RED)


def _coloured(text: str, colour: int | None) -> str:
    if colour is None or not sys.stdout.isatty() or "NO_COLOR" in os.environ:
        return text
    return f"\033[{colour}m{text}\033[0m"
