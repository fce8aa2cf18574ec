"""Child processes that never outlive their parent, and a few facts about other processes."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO

from dashboard.local.unix_accounts import Account

LAST_LINES = 12
PARENT_DEATH_SIGNAL = Path(__file__).with_name("parent_death_signal.py")


def spawn(
    command: Sequence[str],
    *,
    output: IO[bytes] | int,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    account: Account | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start `command` in its own session: Ctrl-C in the terminal reaches the supervisor alone.

    The kernel sends it `death_signal` if the calling thread ends; `output` takes stdout and stderr.
    """
    user = "-"
    if account is not None and account.uid != os.geteuid():
        user = f"{account.uid}:{account.gid}"
    wrapper = (sys.executable, "-I", "-S", str(PARENT_DEATH_SIGNAL))
    return subprocess.Popen(
        [*wrapper, str(int(death_signal)), str(os.getpid()), user, *command],
        stdin=subprocess.DEVNULL,
        stdout=output,
        stderr=subprocess.STDOUT,
        env=None if env is None else dict(env),
        cwd=folder,
        start_new_session=True,
    )


def is_running(pid: int) -> bool:
    """Test whether `pid` is a process that still does something: a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"


def command_of(pid: int) -> list[str]:
    """The command line of `pid`; empty when it is gone or not ours to read."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().decode(errors="replace").split("\0")
    except OSError:
        return []


def wait_until(condition: Callable[[], bool], seconds: float) -> bool:
    """Poll `condition` for at most `seconds`; its last value."""
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def terminate(pid: int, steps: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Send the signals of `steps` in turn, each with its seconds to wait; whether `pid` ended."""
    for number, patience in steps:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        if wait_until(lambda: not is_running(pid), patience):
            return True
    return False


def last_lines(log: Path, since: int = 0) -> str:
    """The end of a log file, from byte `since`, for an error message; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, since, log.stat().st_size - 8192))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-LAST_LINES:])
    except OSError:
        return ""
