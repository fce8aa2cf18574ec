"""Unix accounts: which one can replace root, what it can reach, and how to run a program as it."""

import os
import pwd
import stat
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import NamedTuple


class Account(NamedTuple):
    """A Unix account that a process can run as."""

    name: str
    uid: int
    gid: int


class ProgramFailed(RuntimeError):
    """A program ended with an error; the text has its name, its exit code and its output."""


def account_of_uid(uid: int) -> Account:
    """The account of a uid, by its number where the system has no name for it."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        gid = os.getegid() if uid == os.geteuid() else uid
        return Account(str(uid), uid, gid)
    return Account(entry.pw_name, uid, entry.pw_gid)


def first_usable_account(names: Iterable[str]) -> Account | None:
    """The first account of `names` that exists and that root can become; None without one."""
    for name in names:
        try:
            entry = pwd.getpwnam(name)
        except KeyError:
            continue
        account = Account(name, entry.pw_uid, entry.pw_gid)
        if can_run(account, Path("/bin/true")):
            return account
    return None


def can_run(account: Account, program: Path, *arguments: object) -> bool:
    """Test whether `account` can run a program: root cannot change its user in some containers."""
    try:
        run_as(account, program, *arguments)
    except (OSError, subprocess.SubprocessError, ProgramFailed):
        return False
    return True


def run_as(account: Account, program: Path, *arguments: object, text: str = "") -> None:
    """Run a program to its end as `account`, with `text` on stdin.

    Raises ProgramFailed with the program's output.
    """
    change = account.uid != os.geteuid()
    process = subprocess.run(
        [program, *map(str, arguments)],
        check=False,
        text=True,
        input=text,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        cwd="/",
        env={"PATH": os.defpath, "LC_ALL": "C", "TZ": "UTC"},
        user=account.uid if change else None,
        group=account.gid if change else None,
        extra_groups=[] if change else None,
    )
    if process.returncode != 0:
        raise ProgramFailed(f"{program} ended with {process.returncode}:\n{process.stdout[-2000:]}")


def first_closed_folder(account: Account, folder: Path) -> Path | None:
    """The first existing folder on the path to `folder`, itself included, closed to `account`."""
    if account.uid == 0:
        return None
    path = folder.absolute()
    for step in [*reversed(path.parents), path]:
        if not step.exists():
            return None
        status = step.stat()
        search_bit = stat.S_IXOTH
        if status.st_uid == account.uid:
            search_bit = stat.S_IXUSR
        elif status.st_gid == account.gid:
            search_bit = stat.S_IXGRP
        if not status.st_mode & search_bit:
            return step
    return None
