"""At most one `make up` for each data folder: the kernel releases the lock when its holder dies.

`make up` takes it before it installs anything, and keeps it when it becomes the supervisor.
"""

import fcntl
import json
import os
from pathlib import Path
from typing import IO, NamedTuple

LOCK = "supervisor.lock"
HELD = "COMPILEWATCH_LOCK"  # the file descriptor that a process had before it became another


class Holder(NamedTuple):
    """The supervisor that holds a data folder."""

    pid: int
    url: str


def acquire(var: Path, url: str) -> IO[str] | None:
    """Hold the lock of `var` while the returned file is open; None when somebody else holds it."""
    if held := os.environ.pop(HELD, ""):
        os.set_inheritable(int(held), False)
        return os.fdopen(int(held), "a+")
    var.mkdir(parents=True, exist_ok=True)
    file = (var / LOCK).open("a+")
    if not _lock(file):
        file.close()
        return None
    file.truncate(0)
    json.dump({"pid": os.getpid(), "url": url}, file)
    file.flush()
    return file


def keep(lock: IO[str]) -> None:
    """Keep `lock` for the program that this process is about to become; it acquires it again."""
    os.set_inheritable(lock.fileno(), True)
    os.environ[HELD] = str(lock.fileno())


def holder(var: Path) -> Holder | None:
    """Return the holder of the lock of `var`; None when nobody holds it."""
    try:
        file = (var / LOCK).open()
    except FileNotFoundError:
        return None
    with file:
        if _lock(file):
            return None
        try:
            return Holder(**json.load(file))
        except ValueError:  # it is just about to write it
            return Holder(0, "an address not known yet")


def describe_holder(var: Path) -> str:
    """One line about whoever holds the lock of `var`."""
    running = holder(var)
    if running is None:
        return "Compilewatch just stopped here: start it again"
    how_to_stop = f"process {running.pid}; Ctrl-C there stops it"
    return f"Compilewatch already runs or starts here: {running.url} ({how_to_stop})"


def _lock(file: IO[str]) -> bool:
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True
