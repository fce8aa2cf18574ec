"""Started between the worker and the suite: binds the process to the worker's life, sets limits, becomes the command.

    python -I launch.py PARENT_PID COMMAND [ARGUMENT...]

A program of its own, not a preexec_fn: the worker has threads, and Python code between fork and exec may deadlock
there. Exits with 127 and a line on stderr when the command cannot be started.
"""

import ctypes
import os
import resource
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
CANNOT_START = 127


def die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, dies; at once when it is dead already."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:
        sys.exit("the worker is gone")


def limit() -> None:
    """No core dumps, which can fill a disk; and when memory runs out, the kernel takes this process, not the worker."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Path("/proc/self/oom_score_adj").write_text("1000")


def main(parent: str, *command: str) -> None:
    die_with(int(parent))
    limit()
    try:
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except OSError as error:
        sys.stderr.write(f"cannot start {command[0]}: {error.strerror}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
