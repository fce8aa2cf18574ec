"""The worker's own folder: one worker at a time."""

import os
import time
from pathlib import Path

from runner.locks import try_lock
from runner.settings import SettingsError


def hold(folder: Path, patience_s: float) -> int:
    """Make and lock WORKER_DIR; the lock's descriptor, held until this process and those it forks
    are gone.

    A killed predecessor's forked process dies a moment after it: wait `patience_s` for that. Raises
    SettingsError.
    """
    try:
        folder.mkdir(parents=True, exist_ok=True)
        descriptor = os.open(folder / "worker.lock", os.O_RDWR | os.O_CREAT, 0o600)
    except OSError as error:
        raise SettingsError(
            f"WORKER_DIR is {folder}, which cannot be written: {error.strerror}"
        ) from error
    deadline = time.monotonic() + patience_s
    while not try_lock(descriptor):
        if time.monotonic() > deadline:
            os.close(descriptor)
            raise SettingsError(
                f"WORKER_DIR is {folder}, which another worker uses: give each its own"
            )
        time.sleep(0.1)
    return descriptor
