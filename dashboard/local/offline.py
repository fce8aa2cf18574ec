"""Measure a list of jobs in one go on a machine that has a torch and reaches no package index.

PIECES: what `python -m runner.portable pack` wrote elsewhere. LIST: jobs, one a line, as of
`benchmarks_suite batch`. OUT: the folder of the result files, which `manage.py import_results`
takes in elsewhere.

 1. `.venv` is made from the pieces, in front of everything that this python3 has; an existing one
    is used as it is
 2. Postgres, broker, site, dashboard worker and benchmark worker start as with `make up`, with
    nothing planned
 3. the list goes through the queue to its end, or until the minutes are over
 4. everything stops. The same command continues with the lines that have no result yet
"""

import argparse
import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from dashboard.local import project
from dashboard.local.console import print_error, print_info

UNFINISHED = project.VENV.with_name(".venv.unfinished")


def main(command_line: Sequence[str]) -> int:
    """Make `.venv` if it is missing and become the list's supervisor; the exit code if it fails."""
    options = _parse(command_line)
    until = time.time() + options.minutes * 60
    if not project.VENV.exists() and not _unpack(options.pieces.absolute()):
        print_error(f"{project.VENV} cannot be made from {options.pieces}, see above")
        return 1
    python = str(project.VENV_PYTHON)
    arguments = (str(options.list), str(options.out), str(until))
    sys.stdout.flush()
    os.execv(python, [python, "-m", "dashboard.local.job_list", *arguments])  # noqa: S606


def _parse(command_line: Sequence[str]) -> argparse.Namespace:
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
    return parser.parse_args(command_line)


def _unpack(pieces: Path) -> bool:
    """Whether `.venv` could be made; it gets its name when it is complete."""
    print_info(f"making {project.VENV} from {pieces}")
    arguments = (str(pieces), str(UNFINISHED), "--beside", sys.executable)
    command = [sys.executable, "-m", "runner.portable", "unpack", *arguments]
    if subprocess.run(command, cwd=project.ROOT, check=False).returncode != 0:
        return False
    UNFINISHED.rename(project.VENV)
    return True
