"""Options that several subcommands have, and the client that they configure."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable

from compilewatch_client.client import Client

OK = 0


def add_site_options(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        default="",
        help="address of the site (else COMPILEWATCH_URL, else the config file)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def add_selection(parser: ArgumentParser, *names: str) -> None:
    """names: model, family, benchmark, config; each may be repeated."""
    for name in names:
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME", help=f"a {name}; repeatable"
        )


def connect(options: Namespace) -> Client:
    """The token comes from COMPILEWATCH_TOKEN or the file: on a command line every user of the
    machine would see it.
    """
    return Client(options.url)


def given_filters(options: Namespace, names: Iterable[str]) -> dict[str, str]:
    values = {name: getattr(options, name) for name in names}
    return {name: value for name, value in values.items() if value}
