"""The main job on a machine that reaches no package index and has a torch: a list of jobs, measured
in one go.

PIECES: what `python -m runner.portable pack` wrote elsewhere. LIST: jobs, one a line, as of
`benchmarks_suite batch`. OUT: the folder of the result files, which `manage.py import_results`
takes in elsewhere.

 1. `.venv` from the pieces, in front of everything that this python3 has; one that is there is used
    as it is
 2. Postgres, broker, site, dashboard worker and benchmark worker, as `make up` starts them, with
    nothing planned
 3. the list through the queue to its end, or until the minutes are over
 4. everything stopped. The same command goes on with the lines that have no result yet
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import complain, say

UNFINISHED = project.VENV.with_name(".venv.unfinished")


def main(arguments: Sequence[str]) -> int:
    """Make `.venv` where it is missing and become what measures the list; the exit code where that
    cannot be.
    """
    given = _parsed(arguments)
    until = time.time() + given.minutes * 60
    if not project.VENV.exists() and not _unpack(given.pieces.absolute()):
        complain(f"{project.VENV} cannot be made from {given.pieces}, see above")
        return 1
    command = [
        str(project.VENV_PYTHON),
        "-m",
        "dashboard.local.listed",
        str(given.list),
        str(given.out),
        str(until),
    ]
    sys.stdout.flush()
    os.execv(project.VENV_PYTHON, command)  # noqa: S606


def _parsed(arguments: Sequence[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python3 -m dashboard.local offline",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("pieces", type=Path, help="folder of the pieces")
    parser.add_argument("list", type=Path, help="JSON Lines: one job a line, ordered by value")
    parser.add_argument("out", type=Path, help="folder of the result files")
    parser.add_argument(
        "--minutes", type=float, default=float("inf"), help="all of it, from unpacking to stopping"
    )
    return parser.parse_args(arguments)


def _unpack(pieces: Path) -> bool:
    """Whether `.venv` could be made; it gets its name when it is whole."""
    say(f"making {project.VENV} from {pieces}")
    here = sys.executable
    unpack = [
        here,
        "-m",
        "runner.portable",
        "unpack",
        str(pieces),
        str(UNFINISHED),
        "--beside",
        here,
    ]
    if subprocess.run(unpack, cwd=project.ROOT, check=False).returncode != 0:
        return False
    UNFINISHED.rename(project.VENV)
    return True
