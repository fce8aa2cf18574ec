"""At most one `make up` for each data folder: a lock that the kernel lets go when its holder
dies.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import IO, NamedTuple

LOCK = "supervisor.lock"


class Running(NamedTuple):
    """The supervisor that holds a data folder."""

    pid: int
    url: str


def hold(var: Path, url: str) -> IO[str] | None:
    """Take the lock of `var` for as long as the returned file is open; None when somebody else
    holds it.
    """
    var.mkdir(parents=True, exist_ok=True)
    file = (var / LOCK).open("a+")
    if not _lock(file):
        file.close()
        return None
    file.truncate(0)
    json.dump({"pid": os.getpid(), "url": url}, file)
    file.flush()
    return file


def running_at(var: Path) -> Running | None:
    """Who holds the lock of `var`; None when nobody does."""
    try:
        file = (var / LOCK).open()
    except FileNotFoundError:
        return None
    with file:
        if _lock(file):
            return None
        try:
            return Running(**json.load(file))
        except ValueError:  # it is just about to write it
            return Running(0, "an address not known yet")


def describe(var: Path) -> str:
    """One line about whoever holds the lock of `var`."""
    running = running_at(var)
    if running is None:
        return "Compilewatch just stopped here: start it again"
    return (
        f"Compilewatch already runs here: {running.url} (process {running.pid}; Ctrl-C there "
        "stops it)"
    )


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
