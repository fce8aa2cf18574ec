"""Run a command that the kernel signals when its parent process dies, however that one dies.

    python -I parent_death_signal.py SIGNAL PARENT_PID UID:GID|- COMMAND [ARGUMENT …]

Changing the user clears the kernel's parent-death signal, so the user is changed first. This is
a program of its own, because code between fork and exec in a process that has threads can deadlock.
"""

import ctypes
import os
import sys

PR_SET_PDEATHSIG = 1  # linux/prctl.h


def main(signal_number: str, parent: str, account: str, *command: str) -> None:
    """Become `command`; ends with exit code 1 and a message if the system refuses."""
    if account != "-":
        uid, gid = map(int, account.split(":"))
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.prctl(PR_SET_PDEATHSIG, int(signal_number)) != 0:
        sys.exit(f"prctl(PR_SET_PDEATHSIG) failed: {os.strerror(ctypes.get_errno())}")
    if os.getppid() != int(parent):  # it died before prctl
        sys.exit("the process that started this one is gone")
    os.execvp(command[0], command)  # noqa: S606  # our own supervisor's command, no shell


if __name__ == "__main__":
    main(*sys.argv[1:])
