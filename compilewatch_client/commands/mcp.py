"""`mcp`: a server of the Model Context Protocol on stdin and stdout, for agents."""

from argparse import ArgumentParser, Namespace

from compilewatch_client.client import Client
from compilewatch_client.commands.options import OK
from compilewatch_client.errors import ClientError

MISSING = (
    "This command needs the package mcp, which nothing else here does: pip install 'mcp>=2.3,<3' "
    "(or compilewatch[mcp])."
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--url",
        default="",
        help="address of the site (else COMPILEWATCH_URL, else the config file)",
    )


def run(options: Namespace) -> int:
    """Serve until stdin ends. Raises ClientError where the package mcp is missing."""
    try:
        from compilewatch_client.agents.server import build_server
    except ModuleNotFoundError as error:
        package = (error.name or "").partition(".")[0]
        if package not in {"mcp", "mcp_types"}:
            raise
        raise ClientError(MISSING) from None
    with Client(options.url) as client:
        build_server(client).run("stdio")
    return OK
