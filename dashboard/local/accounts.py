"""Unix accounts: which one may be used instead of root, where it can reach, and running a program
as it.
"""

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
    """A program ended with an error; the text has its name, its exit code and what it printed."""


def own_account() -> Account:
    """The account that this process runs as."""
    return account_of(os.geteuid())


def account_of(uid: int) -> Account:
    """The account of a uid, by its number where the system has no name for it."""
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        return Account(str(uid), uid, os.getegid() if uid == os.geteuid() else uid)
    return Account(entry.pw_name, uid, entry.pw_gid)


def first_usable(names: Iterable[str]) -> Account | None:
    """The first account of `names` that exists and that root can become; None when there is
    none.
    """
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
    """Whether `account` runs a program with success: in some containers root cannot become anybody
    else.
    """
    try:
        run_as(account, program, *arguments)
    except (OSError, subprocess.SubprocessError, ProgramFailed):
        return False
    return True


def run_as(account: Account, program: Path, *arguments: object, text: str = "") -> None:
    """Run a program to its end as `account`, with `text` on stdin. Raises ProgramFailed: what it
    printed.
    """
    change = account.uid != os.geteuid()
    done = subprocess.run(
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
    if done.returncode != 0:
        raise ProgramFailed(f"{program} ended with {done.returncode}:\n{done.stdout[-2000:]}")


def closed_to(account: Account, folder: Path) -> Path | None:
    """The first existing folder on the way to `folder`, itself included, that `account` may not
    pass.
    """
    if account.uid == 0:
        return None
    for step in [*reversed(folder.absolute().parents), folder.absolute()]:
        if not step.exists():
            return None
        found = step.stat()
        bit = stat.S_IXOTH
        if found.st_uid == account.uid:
            bit = stat.S_IXUSR
        elif found.st_gid == account.gid:
            bit = stat.S_IXGRP
        if not found.st_mode & bit:
            return step
    return None
