"""compilewatch: ask a Compilewatch site, trigger measurements, and gate a change.

Where the site is and the token: COMPILEWATCH_URL and COMPILEWATCH_TOKEN, or
~/.config/compilewatch.toml. Exit codes: 0 all is well, 1 it is not (jobs failed, a regression), 2
an error (stderr says which), 3 unclear, 130 and 143 stopped by Ctrl-C and SIGTERM.
"""

import os
import signal
import sys
import threading
import traceback
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence
from contextlib import suppress
from typing import NoReturn

from compilewatch_client.errors import ClientError

OLDEST = (3, 11)  # as requires-python in pyproject.toml
ERROR, INTERRUPTED, TERMINATED = 2, 130, 143
if sys.version_info[:2] < OLDEST:
    # Below is what an old Python cannot run; it reads this file and those above
    sys.stderr.write(f"compilewatch: this needs Python 3.11 or later: {sys.executable}\n")
    sys.exit(ERROR)
REMOVED = {"factors": "factors was removed: use `compare` for builds that differ in one factor"}


def command_parser() -> ArgumentParser:
    # Only here, so that a missing package is an error like any other
    from compilewatch_client.commands import SUBCOMMANDS

    parser = ArgumentParser(
        prog="compilewatch", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, subcommand in SUBCOMMANDS.items():
        description = subcommand.about.capitalize() + "."
        subparser = subparsers.add_parser(name, help=subcommand.about, description=description)
        subcommand.add_arguments(subparser)
        subparser.set_defaults(subcommand=subcommand)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code.

    1 is for answers alone: whatever goes wrong is 2 and a line on stderr.
    """
    if threading.current_thread() is threading.main_thread():
        signal.signal(signal.SIGTERM, _terminate)
    given = sys.argv[1:] if arguments is None else arguments
    try:
        if given and given[0] in REMOVED:
            raise ClientError(REMOVED[given[0]])
        options = command_parser().parse_args(given)
        code: int = options.subcommand.run(options)
        sys.stdout.flush()
    except KeyboardInterrupt as stop:
        _report("stopped")
        return stop.args[0] if stop.args else INTERRUPTED
    except Exception as error:
        if sys.flags.dev_mode:
            traceback.print_exc()
        _report(_description(error))
        _forget_output()
        return ERROR
    return code


def _terminate(*_: object) -> NoReturn:
    """End as Ctrl-C does: what was started here is stopped, temporary files go."""
    raise KeyboardInterrupt(TERMINATED)


def _description(error: Exception) -> str:
    """An error in one line: what, where, and what to do."""
    text = " ".join(str(error).split())
    if isinstance(error, ClientError):
        return text
    if isinstance(error, ModuleNotFoundError):
        return f"{sys.executable} lacks a package: {text}. Install it there."
    if isinstance(error, OSError):
        return f"{text or type(error).__name__}."
    place = traceback.extract_tb(error.__traceback__)[-1]
    return (
        f"{type(error).__name__}: {text}, at {place.filename}:{place.lineno}. Is the site of this "
        "command's version? python -X dev -m compilewatch_client … prints the traceback."
    )


def _report(text: str) -> None:
    # rich may be what is missing, so terminal.py cannot print it
    from dashboard.language.plain_text import plain

    with suppress(OSError, AttributeError):  # stderr may be closed, or None
        sys.stderr.write(f"compilewatch: {plain(text)}\n")


def _forget_output() -> None:
    """Discard what a full disk or a closed pipe does not take: Python would try again at its end,
    and exit with another code.
    """
    try:
        sys.stdout.flush()
    except OSError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    sys.exit(main())
