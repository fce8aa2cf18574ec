"""Runs between the worker and the suite: ties the process to the worker's life, sets limits, execs.

    python -I launcher.py PARENT_PID ACCOUNT COMMAND [ARGUMENT...]

ACCOUNT: whom the command runs as; "-" is whoever runs this. It is a program of its own and not a
preexec_fn: the worker has threads, and Python code between fork and exec may deadlock there. Exits
with 127 and a line on stderr when the command cannot be started.
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


def set_parent_death_signal(parent: int) -> None:
    """Have the kernel kill this process when `parent`, which started it, dies.

    Exits at once when the parent is dead already.
    """
    _prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    if os.getppid() != parent:
        sys.exit("the worker is gone")


def switch_account(name: str) -> None:
    """Become the account `name`, with no way to gain privileges.

    Raises OSError, and KeyError where there is no such account.
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
        set_parent_death_signal(int(parent))
        # A core dump can fill a disk
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        # When memory runs out, the kernel kills this process, not the worker
        Path("/proc/self/oom_score_adj").write_text("1000")
        if account != OURSELVES:
            switch_account(account)
            # The kernel forgets the signal with a change of account
            set_parent_death_signal(int(parent))
        # The worker's capabilities: those that are not ambient end with exec
        _prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL)
        os.execv(command[0], command)  # noqa: S606 - no shell is wanted
    except (OSError, KeyError) as error:
        identity = "" if account == OURSELVES else f" as {account}"
        reason = getattr(error, "strerror", error)
        sys.stderr.write(f"cannot start {command[0]}{identity}: {reason}\n")
        sys.exit(CANNOT_START)


if __name__ == "__main__":
    main(*sys.argv[1:])
