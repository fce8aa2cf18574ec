"""The processes of a job that lost their parent, as a daemon does on purpose.

While a job runs, the kernel makes them children of the worker's process, whatever group,
environment and open files they have.
"""

import os
from contextlib import suppress
from pathlib import Path

import psutil

from runner.launcher import prctl

PR_SET_CHILD_SUBREAPER = 36


class Orphans:
    """Of the job that is started next, until `let_go`.

    Our own children, Celery's among them, are in our session, which no process of a job can enter:
    each begins in a new one. Children in other sessions that are older than the job are not its
    own.
    """

    def __init__(self) -> None:
        prctl(PR_SET_CHILD_SUBREAPER, 1)
        self._session = os.getsid(0)
        self._older = {child.pid for child in psutil.Process().children()}

    def include(self, child: int) -> bool:
        """Whether this child of ours belongs to the job. Raises ProcessLookupError."""
        return os.getsid(child) != self._session and child not in self._older

    def reap(self, leader: int) -> None:
        """Take the dead off the kernel's table; not the job's first process, whose end counts."""
        for task in Path("/proc/self/task").iterdir():
            with suppress(OSError):  # a thread of ours that ended, or a child
                for child in map(int, (task / "children").read_text().split()):
                    if child != leader and self.include(child):
                        os.waitpid(child, os.WNOHANG)

    def let_go(self) -> None:
        """Have the kernel give later orphans to init again."""
        prctl(PR_SET_CHILD_SUBREAPER, 0)
