"""File locks (flock): the kernel lets go of them when their last holder dies, however it dies."""

import fcntl
import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

TICK_S = 0.5


def try_lock(descriptor: int, *, shared: bool = False) -> bool:
    """Take the file's lock if nobody holds it (shared: nobody holds it alone); whether we have
    it.
    """
    try:
        fcntl.flock(descriptor, _kind(shared) | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def wait_for_lock(descriptor: int, tick: Callable[[float], None], *, shared: bool = False) -> None:
    """Take the file's lock as soon as its holder lets go, before whoever asks later. shared:
    together with others.

    A lock of the other kind that the descriptor holds is let go first: others may get in between.

    `tick(seconds waited)` is called at once and then twice a second. It may raise to give up; close
        the descriptor
    then: the thread that still waits closes its own as soon as it has the lock, and so lets go of
        it.
    """
    if try_lock(descriptor, shared=shared):
        return
    ours, its_own = threading.Event(), os.dup(descriptor)

    def wait() -> None:
        # The kernel wakes it: asking again and again could lose every time
        fcntl.flock(its_own, _kind(shared))
        ours.set()
        os.close(its_own)

    threading.Thread(target=wait, daemon=True).start()
    waited = 0.0
    tick(waited)
    while not ours.wait(TICK_S):
        waited += TICK_S
        tick(waited)


@contextmanager
def alone(path: Path) -> Iterator[None]:
    """Wait for the lock of the file `path`, and hold it in the `with` block."""
    with path.open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        try:
            yield
        finally:
            # Closing is not enough: a process forked meanwhile holds it open too
            fcntl.flock(lock, fcntl.LOCK_UN)


def _kind(shared: bool) -> int:
    return fcntl.LOCK_SH if shared else fcntl.LOCK_EX
