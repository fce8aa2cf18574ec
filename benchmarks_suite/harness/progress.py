"""What the suite says on stderr while it works; the worker reads these lines.

A log that takes no more, on a full disk, ends no measurement.
"""

import sys
from contextlib import suppress


def announce(stage: str) -> None:
    """Reports the stage (a stage of schema/result.v1.json) that begins now."""
    note(f"phase: {stage}")  # the interface to the worker


def note(text: str) -> None:
    """A line for people who read the log."""
    with suppress(OSError):
        print(text, file=sys.stderr, flush=True)  # noqa: T201 - stderr is where we speak
