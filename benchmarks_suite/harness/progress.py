"""Output of the suite: stages on stderr, which the worker reads, and answers on stdout.

A log that takes no more, on a full disk, ends no measurement.
"""

import re
import sys
from contextlib import suppress
from pathlib import Path

from benchmarks_suite.harness.portable_text import plain

_STAGE = re.compile(r"^phase: (\w+)$", re.MULTILINE)


def announce(stage: str) -> None:
    """Reports the stage (a stage of schema/result.v1.json) that begins now."""
    note(f"phase: {stage}")  # the interface to the worker


def last_stage(log: Path) -> str | None:
    """The stage that a job's log announced last; None where there is none."""
    try:
        stages = _STAGE.findall(log.read_text(errors="replace"))
    except OSError:
        return None
    return stages[-1] if stages else None


def note(text: str) -> None:
    """A line for people who read the log."""
    with suppress(OSError):
        print(plain(text), file=sys.stderr, flush=True)  # noqa: T201 - stderr is where we speak


def answer(text: str) -> None:
    """Print a command's answer to stdout."""
    print(plain(text), flush=True)  # noqa: T201
