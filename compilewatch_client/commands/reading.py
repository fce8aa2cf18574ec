"""`series` and `alerts`: what was measured, and what changed."""

from argparse import ArgumentParser, Namespace
from collections.abc import Iterator
from itertools import islice

from compilewatch_client import screen
from compilewatch_client.commands.asking import chosen, client, declare_site
from compilewatch_client.documents import Alert, Datum, Series

OK = 0
_OF_SERIES = ("benchmark", "model", "family", "mode", "config", "machine", "track", "metric")
_OF_ALERTS = ("state", "severity", "cause", "direction", "machine", "track", "family", "assignee")


def declare_series(parser: ArgumentParser) -> None:
    for name in _OF_SERIES:
        parser.add_argument(f"--{name}", default="", help=f"only this {name}")
    parser.add_argument("--data", action="store_true", help="every datum, not the newest alone")
    parser.add_argument(
        "--since", default="", help="with --data: only data from this moment on, ISO 8601"
    )
    parser.add_argument("--most", type=int, default=200, help="series at most (200)")
    declare_site(parser)


def series(options: Namespace) -> int:
    with client(options) as site:
        found = list(islice(site.series(**chosen(options, _OF_SERIES)), options.most))
        if not options.data:
            screen.as_json(found) if options.json else _tell_series(found)
            return OK
        data = [(one, list(site.data(one["id"], since=options.since))) for one in found]
        if options.json:
            screen.as_json([{**one, "data": rows} for one, rows in data])
        else:
            _tell_data(data)
        return OK


def _tell_series(found: list[Series]) -> None:
    if not found:
        screen.say("No series fits: leave an option out, or look at the site's page Benchmarks.")
        return
    rows = (
        (
            one["benchmark"],
            one["config"],
            one["machine"],
            one["track"],
            one["metric"],
            screen.number(one["value"], one["unit"]),
            _interval(one["low"], one["high"]),
            one["status"],
            str(one["count"]),
            screen.moment(one["at"]),
        )
        for one in found
    )
    header = (
        "Benchmark",
        "Config",
        "Machine",
        "Track",
        "Metric",
        "Newest",
        "95 %",
        "Status",
        "Data",
        "At",
    )
    screen.table(header, rows, numbers=("Newest", "Data"))


def _tell_data(data: list[tuple[Series, list[Datum]]]) -> None:
    for one, rows in data:
        place = f"{one['machine']}, track {one['track']}"
        screen.say(f"{one['benchmark']} {one['config']}, {one['metric']}, on {place}")
        screen.table(
            ("At", "Build", "Value", "95 %", "Status", "Purpose"),
            _rows(one, rows),
            numbers=("Value",),
        )
        screen.say("")


def _rows(one: Series, rows: list[Datum]) -> Iterator[tuple[str, ...]]:
    for row in rows:
        value = screen.number(row["value"], one["unit"])
        ends = _interval(row["low"], row["high"])
        yield screen.moment(row["at"]), row["build"], value, ends, row["status"], row["purpose"]


def _interval(low: float | None, high: float | None) -> str:
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"


def declare_alerts(parser: ArgumentParser) -> None:
    for name in _OF_ALERTS:
        parser.add_argument(f"--{name}", default="", help=f"only this {name}" + _ALL.get(name, ""))
    parser.add_argument("--most", type=int, default=50, help="alerts at most (50)")
    declare_site(parser)


_ALL = {
    "state": " (the open ones; all: every state)",
    "direction": " (no improvements; all: every direction)",
}


def alerts(options: Namespace) -> int:
    with client(options) as site:
        found = list(islice(site.alerts(**chosen(options, _OF_ALERTS)), options.most))
    screen.as_json(found) if options.json else _tell_alerts(found)
    return OK


def _tell_alerts(found: list[Alert]) -> None:
    if not found:
        screen.say("No alert fits: nothing that is open, unless other options were given.")
        return
    rows = (
        (
            str(one["id"]),
            one["severity"],
            one["state"],
            one["cause"],
            one["title"],
            str(one["series"]),
            screen.moment(one["created_at"]),
        )
        for one in found
    )
    screen.table(
        ("Alert", "Severity", "State", "Cause", "What", "Series", "Since"),
        rows,
        numbers=("Alert", "Series"),
    )
