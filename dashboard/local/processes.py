"""Child processes that never outlive their parent, and small questions about the processes of
others.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from dashboard.local.accounts import Account

TETHER = Path(__file__).with_name("tether.py")


def spawn(
    command: Sequence[str],
    *,
    output: IO[bytes] | int,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    account: Account | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start `command` in its own session, so that a Ctrl-C in the terminal reaches the supervisor
    alone.

    The kernel sends it `death_signal` if the calling thread ends; `output` takes stdout and stderr.
    """
    change = account is not None and account.uid != os.geteuid()
    who = f"{account.uid}:{account.gid}" if account and change else "-"
    tether = [
        sys.executable,
        "-I",
        "-S",
        str(TETHER),
        str(int(death_signal)),
        str(os.getpid()),
        who,
    ]
    return subprocess.Popen(
        [*tether, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=None if env is None else dict(env),
        cwd=folder,
        start_new_session=True,
    )


def runs(pid: int) -> bool:
    """Whether `pid` is a process that still does something: a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"


def command_of(pid: int) -> list[str]:
    """The command line of `pid`; empty when it is gone or not ours to read."""
    try:
        words = Path(f"/proc/{pid}/cmdline").read_bytes().split(b"\0")
    except OSError:
        return []
    return [word.decode(errors="replace") for word in words]


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Ask `condition` again and again for at most `seconds`; its last answer."""
    give_up = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > give_up:
            return False
        time.sleep(pause)
    return True


def end(pid: int, steps: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Send each signal of `steps` in turn and wait its seconds for `pid` to be gone; whether it
    went.
    """
    for number, patience in steps:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        if wait_until(lambda: not runs(pid), patience):
            return True
    return False


def last_lines(log: Path, count: int = 12, since: int = 0) -> str:
    """The end of a log file, from byte `since`, for an error message; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, since, log.stat().st_size - 8192))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])
    except OSError:
        return ""
