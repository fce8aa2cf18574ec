"""What the suite says on stderr while it works; the worker reads these lines."""

import sys


def announce(stage: str) -> None:
    """Tells the stage (a stage of schema/result.v1.json) that begins now."""
    print(f"phase: {stage}", file=sys.stderr, flush=True)  # noqa: T201 - this is the interface to the worker


def note(text: str) -> None:
    """A line for people who read the log."""
    print(text, file=sys.stderr, flush=True)  # noqa: T201
