"""Values that a process shares with the children that it forks.

They are in plain shared memory, which no killed process can leave locked.
"""

import mmap
import time
import uuid


class SharedFlag:
    """A flag that is set once. Setting it is safe in a signal handler."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 1)

    def set(self) -> None:
        self._memory[0] = 1

    def is_set(self) -> bool:
        return self._memory[0] == 1

    def wait(self, seconds: float) -> bool:
        """Sleep until the flag is set, or for `seconds`; whether it is set."""
        deadline = time.monotonic() + seconds
        while not self.is_set() and (left := deadline - time.monotonic()) > 0:
            time.sleep(min(left, 0.1))
        return self.is_set()


class BootId:
    """The random id of the process that runs jobs: a new one reports that the old process died."""

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, 32)
        self.renew()

    def renew(self) -> None:
        self._memory[:] = uuid.uuid4().hex.encode()

    def __str__(self) -> str:
        return self._memory[:].decode()
