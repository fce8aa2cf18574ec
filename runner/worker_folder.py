"""The worker's own folder, WORKER_DIR: one worker at a time uses it."""

import os
import time
from pathlib import Path

from runner.locks import try_lock
from runner.settings import SettingsError


def lock_worker_folder(folder: Path, patience_s: float) -> int:
    """Make and lock WORKER_DIR. Raises SettingsError.

    Returns the lock's descriptor: the lock is held until this process and those that it forks are
    gone. A killed predecessor's forked process dies a moment after it: wait `patience_s` for that.
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
