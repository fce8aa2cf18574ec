"""File locks (flock): the kernel releases them when their last holder dies, however it dies."""

import fcntl
import math
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TICK_S = 0.5


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the file's lock if that is possible at once; whether we have it.

    shared: together with others that hold it shared.
    """
    try:
        fcntl.flock(descriptor, _operation(shared) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, tick: Callable[[float], None], *, shared: bool = False) -> None:
    """Take the file's lock as soon as its holder releases it, before whoever asks later.

    shared: together with others that hold it shared. A lock of the other kind that the descriptor
    holds is released first: others may get in between.

    `tick(seconds waited)` is called at once and then twice a second. It may raise to give up; close
    the descriptor then: the thread that still waits closes its own copy as soon as it has the lock,
    and so releases it.
    """
    if try_lock(descriptor, shared=shared):
        return
    acquired = threading.Event()
    copy = os.dup(descriptor)

    def wait() -> None:
        # The kernel wakes this thread: polling could lose every time
        fcntl.flock(copy, _operation(shared))
        acquired.set()
        os.close(copy)

    threading.Thread(target=wait, daemon=True).start()
    waited_s = 0.0
    tick(waited_s)
    while not acquired.wait(TICK_S):
        waited_s += TICK_S
        tick(waited_s)


@contextmanager
def exclusive_lock(path: Path, give_up_at: float = math.inf) -> Iterator[None]:
    """Wait for the lock of the file `path`, and hold it in the `with` block.

    give_up_at: as time.monotonic() has it; then TimeoutError is raised.
    """

    def tick(waited_s: float) -> None:
        if time.monotonic() >= give_up_at:
            raise TimeoutError(f"{path} has been locked by another process for {waited_s:g} s")

    with path.open("w") as file:
        wait_for_lock(file.fileno(), tick)
        try:
            yield
        finally:
            # Closing is not enough: a process forked meanwhile holds it open too
            fcntl.flock(file, fcntl.LOCK_UN)


def _operation(shared: bool) -> int:
    return fcntl.LOCK_SH if shared else fcntl.LOCK_EX
