"""Child processes that never outlive their parent, and the small questions asked about processes of others."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import IO, NamedTuple

TETHER = Path(__file__).with_name("tether.py")


class Account(NamedTuple):
    """A Unix account that a process can run as."""

    name: str
    uid: int
    gid: int


def spawn(
    command: Sequence[str],
    *,
    output: IO[bytes] | int,
    env: Mapping[str, str] | None = None,
    folder: Path | None = None,
    account: Account | None = None,
    death_signal: signal.Signals = signal.SIGTERM,
) -> subprocess.Popen[bytes]:
    """Start `command` in its own session, so that a Ctrl-C in the terminal reaches the supervisor alone.

    `death_signal` is sent to it by the kernel if the calling thread's process dies; `output` takes stdout and stderr.
    """
    who = f"{account.uid}:{account.gid}" if account else "-"
    tether = [sys.executable, "-I", "-S", str(TETHER), str(int(death_signal)), str(os.getpid()), who]
    return subprocess.Popen(
        [*tether, *command],
        stdin=subprocess.DEVNULL, stdout=output, stderr=subprocess.STDOUT,
        env=dict(env) if env is not None else None, cwd=folder, start_new_session=True,
    )


def runs(pid: int) -> bool:
    """Whether `pid` is a process that still does something: a zombie does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0]
    except (OSError, IndexError):
        return False
    return state not in "ZX"


def command_of(pid: int) -> str:
    """The command line of `pid`, its arguments joined by spaces; empty when it is gone or not ours to read."""
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace").strip()
    except OSError:
        return ""


def wait_until(condition: Callable[[], bool], seconds: float, pause: float = 0.02) -> bool:
    """Ask `condition` again and again for at most `seconds`; its last answer."""
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            return False
        time.sleep(pause)
    return True


def end(pid: int, steps: Sequence[tuple[signal.Signals, float]]) -> bool:
    """Send each signal of `steps` in turn and wait its seconds for `pid` to be gone; whether it went."""
    for number, patience in steps:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            return True
        if wait_until(lambda: not runs(pid), patience):
            return True
    return False


def last_lines(log: Path, count: int = 12) -> str:
    """The end of a log file for an error message; empty when there is none."""
    try:
        with log.open("rb") as file:
            file.seek(max(0, log.stat().st_size - 8192))
            return "\n".join(file.read().decode(errors="replace").splitlines()[-count:])
    except OSError:
        return ""
