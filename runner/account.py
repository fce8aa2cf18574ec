"""The account that the suite runs as, where it is not the worker's: what a model's code does, it
does as that account.

So it can neither read the worker's token, in the worker's environment and memory, nor change what
waits in its outbox.
"""

import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path

NEEDED = {  # capability -> its bit, as linux/capability.h numbers them
    "dac_override": 1,  # to remove what the suite left
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "sys_ptrace": 19,  # to find its processes by a variable of theirs
}
OPEN_TO_ALL = 0o1777  # sticky: everybody may add files, and remove their own alone


class AccountError(Exception):
    """The suite cannot run as this account. The text says why, and what to do."""


@dataclass(frozen=True)
class Account:
    """An account of this computer."""

    name: str
    home: Path

    @classmethod
    def of_another(cls, name: str) -> "Account":
        """The account `name`, if it is not our own and we may start and end processes of it; else
        AccountError.
        """
        try:
            found = pwd.getpwnam(name)
        except KeyError as error:
            raise AccountError(
                "there is no such account on this computer: add it with useradd"
            ) from error
        if found.pw_uid in {0, os.geteuid()}:
            raise AccountError("it has to be an account of its own, neither root nor the worker's")
        if missing := sorted(NEEDED.keys() - _capabilities()):
            raise AccountError(
                f"the worker lacks {', '.join(missing)}: start it as root, or with these "
                "capabilities as "
                "docker/Dockerfile does"
            )
        return cls(name, Path(found.pw_dir))

    @property
    def variables(self) -> dict[str, str]:
        """What in the environment says whose process it is."""
        return {"HOME": str(self.home), "USER": self.name, "LOGNAME": self.name}


def open_to(account: Account | None, *folders: Path) -> None:
    """Let the account, if there is one, add files to folders of ours."""
    for folder in folders if account else ():
        folder.chmod(OPEN_TO_ALL)


def _capabilities() -> set[str]:
    """Those of NEEDED that this process has."""
    found = re.search(
        r"^CapEff:\s*([0-9a-f]+)$", Path("/proc/self/status").read_text(), re.MULTILINE
    )
    bits = int(found[1], 16) if found else 0
    return {name for name, bit in NEEDED.items() if bits >> bit & 1}
