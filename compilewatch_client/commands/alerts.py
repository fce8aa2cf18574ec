"""`alerts` and `triage`: what changed, and acting on it."""

from argparse import ArgumentParser, ArgumentTypeError, Namespace
from itertools import islice
from typing import get_args

from compilewatch_client import terminal
from compilewatch_client.api_types import AlertAction, AlertDocument
from compilewatch_client.commands.options import OK, add_site_options, connect, given_filters

FILTERS = (
    "state",
    "severity",
    "cause",
    "direction",
    "machine",
    "track",
    "family",
    "assignee",
)
DEFAULTS = {
    "state": " (the open ones; all: every state)",
    "direction": " (no improvements; all: every direction)",
}


def add_alerts_arguments(parser: ArgumentParser) -> None:
    for name in FILTERS:
        about = f"only this {name}{DEFAULTS.get(name, '')}"
        parser.add_argument(f"--{name}", default="", help=about)
    parser.add_argument("--most", type=int, default=50, help="alerts at most (50)")
    add_site_options(parser)


def alerts(options: Namespace) -> int:
    with connect(options) as client:
        filters = given_filters(options, FILTERS)
        listed = list(islice(client.alerts(**filters), options.most))
    if options.json:
        terminal.print_json(listed)
    elif listed:
        header = ("Alert", "Severity", "State", "Cause", "What", "Series", "Owner", "Since")
        terminal.print_table(header, map(_row, listed), numbers=("Alert", "Series"))
    else:
        terminal.print_text("No alert fits: nothing that is open, unless other options were given.")
    return OK


def _row(alert: AlertDocument) -> tuple[str, ...]:
    return (
        str(alert["id"]),
        alert["severity"],
        alert["state"],
        alert["cause"],
        alert["title"],
        str(alert["series"]),
        alert["assignee"] or "",
        terminal.format_time(alert["created_at"]),
    )


def add_triage_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("alert", type=int, help="number of the alert")
    parser.add_argument("act", choices=get_args(AlertAction), help="what to do with it")
    parser.add_argument(
        "fields",
        nargs="*",
        type=_field,
        metavar="FIELD=VALUE",
        help='of the call, as to=acknowledged why="known"',
    )
    add_site_options(parser)


def triage(options: Namespace) -> int:
    fields = dict(options.fields)
    if "changes" in fields:  # it takes several values, separated by commas
        fields["changes"] = fields["changes"].split(",")
    with connect(options) as client:
        alert = client.triage(options.alert, options.act, **fields)
    if options.json:
        terminal.print_json(alert)
    else:
        terminal.print_text(
            f"alert {alert['id']} is {alert['state']}: {alert['title']}\n{alert['url']}"
        )
    return OK


def _field(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not (name and equals):
        raise ArgumentTypeError(f'{text!r}: write FIELD=VALUE, as why="known since Monday"')
    return name, value
