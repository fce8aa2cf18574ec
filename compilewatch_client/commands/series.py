"""`series`: what was measured."""

from argparse import ArgumentParser, Namespace
from itertools import islice

from compilewatch_client import terminal
from compilewatch_client.api_types import DatumDocument, SeriesDocument
from compilewatch_client.commands.options import OK, add_site_options, connect, given_filters
from compilewatch_client.connection import Document

FILTERS = ("benchmark", "model", "family", "mode", "config", "machine", "track", "metric")
HEADER = (
    "Benchmark",
    "Config",
    "Machine",
    "Track",
    "Metric",
    "Newest",
    "95%",
    "Status",
    "Data",
    "At",
)


def add_arguments(parser: ArgumentParser) -> None:
    for name in FILTERS:
        parser.add_argument(f"--{name}", default="", help=f"only this {name}")
    parser.add_argument("--data", action="store_true", help="every datum, not the newest alone")
    parser.add_argument(
        "--since", default="", help="with --data: only data from this moment on, ISO 8601"
    )
    parser.add_argument("--most", type=int, default=200, help="series at most (200)")
    add_site_options(parser)


def run(options: Namespace) -> int:
    with connect(options) as client:
        filters = given_filters(options, FILTERS)
        listed = list(islice(client.series(**filters), options.most))
        documents: list[Document] = [{**series} for series in listed]
        if options.data:
            for document in documents:
                document["data"] = list(client.data(document["id"], since=options.since))
    if options.json:
        terminal.print_json(documents)
    elif options.data:
        for document in documents:
            _print_data(document)
    elif listed:
        terminal.print_table(HEADER, map(_series_row, listed), numbers=("Newest", "Data"))
    else:
        terminal.print_text(
            "No series fits: leave an option out, or look at the site's page Benchmarks."
        )
    return OK


def _series_row(series: SeriesDocument) -> tuple[str, ...]:
    return (
        series["benchmark"],
        series["config"],
        series["machine"],
        series["track"],
        series["metric"],
        terminal.format_number(series["value"], series["unit"]),
        _interval(series),
        series["status"],
        str(series["count"]),
        terminal.format_time(series["at"]),
    )


def _print_data(series: Document) -> None:
    case = f"{series['benchmark']} {series['config']}"
    place = f"{series['machine']}, track {series['track']}"
    terminal.print_text(f"{case}, {series['metric']}, on {place}")
    header = ("At", "Build", "Value", "95%", "Status", "Purpose")
    rows = [_datum_row(datum, series["unit"]) for datum in series["data"]]
    terminal.print_table(header, rows, numbers=("Value",))
    terminal.print_text("")


def _datum_row(datum: DatumDocument, unit: str) -> tuple[str, ...]:
    return (
        terminal.format_time(datum["at"]),
        datum["build"],
        terminal.format_number(datum["value"], unit),
        _interval(datum),
        datum["status"],
        datum["purpose"],
    )


def _interval(document: SeriesDocument | DatumDocument) -> str:
    low, high = document["low"], document["high"]
    return "" if low is None or high is None else f"{low:.4g} to {high:.4g}"
