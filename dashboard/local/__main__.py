"""The commands behind the Makefile: python3 -m dashboard.local COMMAND.

This file is read by whatever python3 the machine has, so it keeps to old syntax until the version
is known.
"""

import os
import shutil
import sys

OLDEST, NEWEST = (3, 11), (3, 13)  # as requires-python in pyproject.toml


def use_supported_python() -> None:
    """Continue in a Python of the supported range; exit with a message when there is none."""
    if OLDEST <= sys.version_info[:2] <= NEWEST:
        return
    for minor in range(OLDEST[1], NEWEST[1] + 1):
        python = shutil.which(f"python3.{minor}")
        if python:
            sys.stderr.write(
                "python3 here is {}.{}, too old or too new: continuing with {}\n".format(
                    *sys.version_info[:2], python
                )
            )
            os.execv(python, [python, "-m", "dashboard.local", *sys.argv[1:]])  # noqa: S606
    sys.exit(
        f"python3 here is {sys.version_info[0]}.{sys.version_info[1]}, and Compilewatch needs "
        f"{OLDEST[0]}.{OLDEST[1]} to {NEWEST[0]}.{NEWEST[1]}. Install one of them (for example "
        "python3.11 from the distribution, or `uv python install 3.12`) and run make again with "
        "PYTHON=its path."
    )


if __name__ == "__main__":
    use_supported_python()
    from dashboard.local.commands import main

    sys.exit(main(sys.argv[1:]))
