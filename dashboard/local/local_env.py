"""`var/local.env`: the settings that `make up` makes and keeps, so that manage.py works by hand."""

import os
import shlex
from collections.abc import Mapping
from pathlib import Path

NAME = "local.env"
HEADER = (
    "# Written by `make up` at every start. Set a variable in the environment to override it.\n"
)


def read(var: Path) -> dict[str, str]:
    """The settings of the last start; empty before the first."""
    try:
        lines = (var / NAME).read_text().splitlines()
    except FileNotFoundError:
        return {}
    values = {}
    for line in lines:
        name, equals, value = line.partition("=")
        if equals and not line.startswith("#"):
            values[name] = "".join(shlex.split(value))
    return values


def write(var: Path, values: Mapping[str, str]) -> None:
    """Replace the file at once; only its owner can read it."""
    unfinished = var / (NAME + ".unfinished")
    unfinished.unlink(missing_ok=True)
    descriptor = os.open(unfinished, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    with os.fdopen(descriptor, "w") as file:
        file.write(HEADER)
        file.writelines(f"{name}={shlex.quote(value)}\n" for name, value in sorted(values.items()))
    unfinished.replace(var / NAME)
