"""Measure models in eager and compiled by torch, in any torch environment, without any server.

  python -m benchmarks_suite list [--json]
      what can be measured, and with which configs
  python -m benchmarks_suite run JOB_FILE RESULT_FILE
      one job file (schema/job.v1.json) to one result file
  python -m benchmarks_suite run --benchmark NAME --config NAME [--out RESULT_FILE] [--budget-s S]
      one case, as a table: a number, reproduced by hand
  list, run, noise --from PATH
      a Python file of your own models, too (docs/own-models.md)
  python -m benchmarks_suite batch LIST OUT [--minutes N] [--ahead N]
      a list of jobs, unattended and resumable; - for stdin
  python -m benchmarks_suite interleave LIST OUT --build LABEL=PYTHON --build LABEL=PYTHON
      the same in several torch builds in turn, A B A B
  python -m benchmarks_suite compare BEFORE AFTER
      two results, or two folders of them, case by case
  python -m benchmarks_suite noise --benchmark NAME --config NAME [--processes N]
      how much each metric differs between fresh processes
  python -m benchmarks_suite ceilings [RESULT_FILE]
      this machine's own matmul rate and copy bandwidth

Exit codes: 0 a result was written, whatever its status; 2 the job file or the command line is
wrong, stderr says what; `run` with options adds codes for a case that did not pass (`run --help`);
130 stopped by Ctrl-C; anything else is a crash. The stage of the work is reported on stderr as
`phase: <stage>`.
"""

import argparse
import os
import sys
from collections.abc import Sequence

from benchmarks_suite import commands
from benchmarks_suite.harness import forks, progress
from benchmarks_suite.harness.contract import WrongInput

WRONG_INPUT, INTERRUPTED = 2, 130
REMOVED = {
    "lists": "lists was removed: write the list, one job a line (docs/measuring.md)",
    "coverage": "coverage was removed: `list` has every case, and a site shows which were run",
    "blame": "blame was removed: the ablation in a result that drifts names the compiler's stage",
}


def main(arguments: Sequence[str]) -> int:
    """Runs one command; returns the exit code."""
    if "COMPILEWATCH_PROCESSES" in os.environ:
        progress.note("COMPILEWATCH_PROCESSES was removed: every job is a fresh process")
    if arguments and arguments[0] in REMOVED:
        progress.note(f"benchmarks_suite: {REMOVED[arguments[0]]}")
        return WRONG_INPUT
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks_suite",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    choices = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in commands.COMMANDS.items():
        command.declare(choices.add_parser(name, help=command.help))
    options = parser.parse_args(arguments)
    try:
        return commands.COMMANDS[options.command].run(options)
    except WrongInput as error:
        progress.note(f"benchmarks_suite: {error}")
        return WRONG_INPUT
    except KeyboardInterrupt:
        progress.note("benchmarks_suite: stopped")
        return INTERRUPTED


def _main_for_pipes(arguments: Sequence[str]) -> int:
    """main, for a reader that may end before it (``| head``): that is not a crash."""
    try:
        code = main(arguments)
        sys.stdout.flush()
    except BrokenPipeError:
        # Python flushes once more when it ends
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 1
    return code


if __name__ == "__main__":
    if sys.argv[1:2] == ["run"]:
        forks.with_fixed_hashes()
    sys.exit(_main_for_pipes(sys.argv[1:]))
