"""Options that several subcommands have, and the client that they mean."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterable, Mapping
from typing import Any

from compilewatch_client.client import Client


def declare_site(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        default="",
        help="address of the site (else COMPILEWATCH_URL, else the config file)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON for programs")


def declare_selection(parser: ArgumentParser, *names: str) -> None:
    """names: model, family, benchmark, config; each may be given again."""
    for name in names:
        parser.add_argument(
            f"--{name}", action="append", default=[], metavar="NAME", help=f"a {name}; repeatable"
        )


def client(options: Namespace) -> Client:
    """The token comes from COMPILEWATCH_TOKEN or the file: on a command line every user of the
    machine would see it.
    """
    return Client(options.url)


def chosen(options: Namespace, names: Iterable[str]) -> dict[str, str]:
    """The options of these names that were given."""
    return {name: getattr(options, name) for name in names if getattr(options, name)}


def selected(options: Namespace, fields: Mapping[str, str]) -> dict[str, Any]:
    """{field of the API: option} -> {field: what was given}."""
    return {field: getattr(options, option) for field, option in fields.items()}
