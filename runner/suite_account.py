"""The account that the suite runs as, where it is not the worker's own.

What a model's code does, it does as that account: it can neither read the worker's token, in the
worker's environment and memory, nor change what waits in its outbox.
"""

import os
import pwd
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Self

REQUIRED_CAPABILITIES = {  # capability -> its bit, as linux/capability.h numbers them
    "dac_override": 1,  # to remove what the suite left
    "kill": 5,
    "setgid": 6,
    "setuid": 7,
    "sys_ptrace": 19,  # to find the suite's processes by a variable of their environment
}
OPEN_TO_ALL = 0o1777  # sticky: everybody may add files, but remove only their own


class SuiteAccountError(Exception):
    """The suite cannot run as this account. The text says why, and what to do."""


@dataclass(frozen=True)
class SuiteAccount:
    """An account of this computer."""

    name: str
    home: Path

    @classmethod
    def find(cls, name: str) -> Self:
        """The account `name`. Raises SuiteAccountError.

        It must not be our own, and we must be allowed to start and end processes as it.
        """
        try:
            entry = pwd.getpwnam(name)
        except KeyError as error:
            raise SuiteAccountError(
                "there is no such account on this computer: add it with useradd"
            ) from error
        if entry.pw_uid in {0, os.geteuid()}:
            raise SuiteAccountError(
                "it has to be an account of its own, neither root nor the worker's"
            )
        missing = sorted(REQUIRED_CAPABILITIES.keys() - _capabilities())
        if missing:
            raise SuiteAccountError(
                f"the worker lacks {', '.join(missing)}: start it as root, or with these "
                "capabilities as docker/Dockerfile does"
            )
        return cls(name, Path(entry.pw_dir))


def open_to(account: SuiteAccount | None, *folders: Path) -> None:
    """Let the account, if there is one, add files to our folders."""
    if account is None:
        return
    for folder in folders:
        folder.chmod(OPEN_TO_ALL)


def account_variables(account: SuiteAccount | None) -> dict[str, str]:
    """The environment variables that name the account; none where the suite runs as the worker."""
    if account is None:
        return {}
    return {"HOME": str(account.home), "USER": account.name, "LOGNAME": account.name}


def _capabilities() -> set[str]:
    """The required capabilities that this process has."""
    status = Path("/proc/self/status").read_text()
    match = re.search(r"^CapEff:\s*([0-9a-f]+)$", status, re.MULTILINE)
    if match is None:
        return set()
    bits = int(match[1], 16)
    return {name for name, bit in REQUIRED_CAPABILITIES.items() if bits >> bit & 1}
