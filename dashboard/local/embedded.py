"""Base of the two embedded servers: a process, the socket's folder, a log that stays small."""

import hashlib
import importlib.util
import os
import re
import signal
import stat
import subprocess
import sys
from abc import ABC, abstractmethod
from pathlib import Path
from typing import IO

from dashboard.local.processes import terminate

# Bytes: the kernel ends a socket's whole path at 108, and the server adds a name
SOCKET_FOLDER_LIMIT = 90
LOG_LIMIT_BYTES = 5_000_000


class ServerError(RuntimeError):
    """An embedded server failed; the text says what, where and what to do."""


class EmbeddedServer(ABC):
    """A server with its data in `home`. It replaces one that a killed process left behind."""

    STOP_STEPS: tuple[tuple[signal.Signals, float], ...]

    def __init__(self, home: Path) -> None:
        self.home = home
        self.log = home / "server.log"
        self._process: subprocess.Popen[bytes] | None = None

    @abstractmethod
    def start(self) -> str:
        """Start the server unless it runs; its address once it answers. Raises ServerError."""

    def stop(self) -> None:
        """Stop the server: connections are ended, what it has taken is on disk."""
        if self._process:
            terminate(self._process.pid, self.STOP_STEPS)
            self._process.wait()
            self._process = None

    @property
    def pid(self) -> int | None:
        """The process that we started; None when there is none."""
        return self._process.pid if self._process else None

    def ended(self) -> bool:
        """Test whether no server that we started runs."""
        return self._process is None or self._process.poll() is not None

    def _end_leftover(self, pid: int | None, served: Path) -> None:
        """Stop a killed supervisor's server `pid`, if there is one, before ours starts."""
        if pid and not terminate(pid, self.STOP_STEPS):
            raise ServerError(f"process {pid} serves {served} and does not stop: stop it by hand")


def socket_folder(home: Path, owner: int) -> Path:
    """A private folder for the socket, of uid `owner`: `home/run`, else a short one in /tmp.

    Raises ServerError when somebody else already owns the short one.
    """
    folder = home / "run"
    is_plain = re.fullmatch(r"[\w./-]+", str(folder), re.ASCII)
    if len(os.fsencode(folder)) > SOCKET_FOLDER_LIMIT or not is_plain:
        digest = hashlib.sha256(os.fsencode(home)).hexdigest()[:16]
        folder = Path("/tmp") / f"compilewatch-{digest}"  # noqa: S108  # its owner is checked below
    return private_folder(folder, owner)


def private_folder(folder: Path, owner: int) -> Path:
    """Make `folder` with mode 0700 for uid `owner`, or take the existing one if it is ours."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid not in {os.geteuid(), owner}:
        raise ServerError(
            f"{folder} belongs to uid {status.st_uid}: remove it, or start as that user"
        )
    if os.geteuid() == 0:
        os.chown(folder, owner, -1)
    folder.chmod(0o700)
    return folder


def open_log(log: Path) -> IO[bytes]:
    """Append to `log`; one older generation (`.1`) is kept once it has grown past the limit."""
    if log.exists() and log.stat().st_size > LOG_LIMIT_BYTES:
        log.replace(log.with_name(log.name + ".1"))
    return log.open("ab")


def package_folder(name: str) -> Path:
    """Find where a package is installed, without importing it. Raises ServerError if it is not."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ServerError(f"{name} is not installed in {sys.prefix}: `make up` installs it")
    return Path(spec.origin).parent
