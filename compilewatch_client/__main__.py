"""compilewatch: ask a Compilewatch site, trigger measurements, and gate a change.

Where the site is and the token: COMPILEWATCH_URL and COMPILEWATCH_TOKEN, or
~/.config/compilewatch.toml. Exit codes: 0 all is well, 1 it is not (jobs failed, a regression), 2
it could not be asked, 3 not known yet.
"""

import sys
from argparse import ArgumentParser, RawDescriptionHelpFormatter
from collections.abc import Sequence

from compilewatch_client import screen
from compilewatch_client.commands import COMMANDS
from compilewatch_client.errors import ClientError

COULD_NOT, INTERRUPTED = 2, 130


def parser() -> ArgumentParser:
    made = ArgumentParser(
        prog="compilewatch", description=__doc__, formatter_class=RawDescriptionHelpFormatter
    )
    commands = made.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, command in COMMANDS.items():
        command.declare(
            commands.add_parser(
                name, help=command.about, description=command.about.capitalize() + "."
            )
        )
    return made


def main(arguments: Sequence[str] | None = None) -> int:
    """Run one command; its exit code."""
    options = parser().parse_args(arguments)
    try:
        return COMMANDS[options.command].run(options)
    except ClientError as error:
        screen.err().print(f"compilewatch: {error}", markup=False, soft_wrap=True)
        return COULD_NOT
    except KeyboardInterrupt:
        screen.err().print("stopped looking; what was triggered goes on", markup=False)
        return INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
