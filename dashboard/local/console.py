"""Lines that `make up` prints for a person, coloured on a terminal."""

import os
import sys
import threading
from contextlib import suppress
from datetime import datetime

from dashboard.language.plain_text import plain

COLOURS = (36, 33, 32, 35, 34, 96, 93, 92)
RED, BOLD = 31, 1
OWN_NAME = "compilewatch"
_lock = threading.RLock()  # a signal's handler prints, too


def print_info(text: str, *, name: str = OWN_NAME, colour: int | None = BOLD) -> None:
    """Print `text`, whole lines at a time, with the clock and the `name` of its process."""
    clock = datetime.now().astimezone().strftime("%H:%M:%S")
    prefix = f"{clock} {name:<12} |"
    if colour is not None and sys.stdout.isatty() and "NO_COLOR" not in os.environ:
        prefix = f"\033[{colour}m{prefix}\033[0m"
    for line in text.splitlines() or [""]:
        # The terminal may be gone before we are; a signal's handler may interrupt a print
        with _lock, suppress(OSError, RuntimeError):
            print(prefix, plain(line), flush=True)  # noqa: T201


def print_error(text: str) -> None:
    """Print what went wrong, in red on a terminal."""
    print_info(text, colour=RED)
