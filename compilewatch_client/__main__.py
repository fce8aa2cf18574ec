"""compilewatch: ask a Compilewatch site, trigger measurements, and gate a change.

Where the site is and the token: COMPILEWATCH_URL and COMPILEWATCH_TOKEN, or
~/.config/compilewatch.toml. Exit codes: 0 all is well, 1 it is not (jobs failed, a regression), 2
an error (stderr says which), 3 not known yet.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

from compilewatch_client import terminal
from compilewatch_client.commands import SUBCOMMANDS
from compilewatch_client.errors import ClientError

ERROR, INTERRUPTED = 2, 130


def command_parser() -> ArgumentParser:
    parser = ArgumentParser(
        prog="compilewatch", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    subparsers = parser.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, subcommand in SUBCOMMANDS.items():
        description = subcommand.about.capitalize() + "."
        subparser = subparsers.add_parser(name, help=subcommand.about, description=description)
        subcommand.add_arguments(subparser)
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one subcommand and return its exit code."""
    options = command_parser().parse_args(arguments)
    try:
        return SUBCOMMANDS[options.command].run(options)
    except ClientError as error:
        terminal.print_note(f"compilewatch: {error}")
        return ERROR
    except KeyboardInterrupt:
        terminal.print_note("stopped looking; what was triggered goes on")
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
