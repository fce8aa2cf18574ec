"""What the two embedded servers share: the socket's folder, a log that stays small, an error."""

import hashlib
import importlib.util
import os
import re
import stat
import sys
from pathlib import Path
from typing import IO

# Bytes: the kernel ends a socket's whole path at 108, and the server adds a name
SOCKET_FOLDER_LIMIT = 90
LOG_LIMIT_BYTES = 5_000_000


class ServerError(RuntimeError):
    """An embedded server failed; the text says what, where and what to do."""


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
    """Where a package is installed, without importing it. Raises ServerError if it is not."""
    spec = importlib.util.find_spec(name)
    if spec is None or spec.origin is None:
        raise ServerError(f"{name} is not installed in {sys.prefix}: `make up` installs it")
    return Path(spec.origin).parent
