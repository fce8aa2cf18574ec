"""Started between the worker and the suite: binds the process to the worker's life, sets limits,
becomes the command.

    python -I launch.py PARENT_PID ACCOUNT COMMAND [ARGUMENT...]

ACCOUNT: whom the command runs as; "-" is whoever runs this. A program of its own, not a preexec_fn:
the worker has threads, and Python code between fork and exec may deadlock there. Exits with 127 and
a line on stderr when the command cannot be started.
"""

import ctypes
import os
import pwd
import resource
import signal
import sys
from pathlib import Path

PR_SET_PDEATHSIG = 1
PR_SET_NO_NEW_PRIVS = 38
PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL = 47, 4
OURSELVES = "-"
CANNOT_START = 127


def die_with(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, dies; at once when it is
    dead already.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the worker is gone")


def limit() -> None:
    """No core dumps, which can fill a disk; and when memory runs out, the kernel takes this
    process, not the worker.
    """
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    Path("/proc/self/oom_score_adj").write_text("1000")


def become(name: str) -> None:
    """Be the account `name`, with no way to more. Raises OSError, and KeyError where there is no
    such account.
    """
    account = pwd.getpwnam(name)
    os.initgroups(name, account.pw_gid)
    os.setgid(account.pw_gid)
    os.setuid(account.pw_uid)
    _prctl(PR_SET_NO_NEW_PRIVS, 1)


def _prctl(option: int, argument: int) -> None:
    library = ctypes.CDLL(None, use_errno=True)
    if library.prctl(option, argument, 0, 0, 0):
        number = ctypes.get_errno()
        raise OSError(number, f"prctl {option}: {os.strerror(number)}")


def main(parent: str, account: str, *command: str) -> None:
    try:
        die_with(int(parent))
        limit()
        if account != OURSELVES:
            become(account)
            die_with(int(parent))  # the kernel forgets it with a change of account
        # The worker's capabilities: those not ambient end with exec
        _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except (OSError, KeyError) as error:
        whom = "" if account == OURSELVES else f" as {account}"
        sys.stderr.write(f"cannot start {command[0]}{whom}: {getattr(error, 'strerror', error)}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
