"""`bisect`: search for the build that changed a case. Exit code 0: found; 1: not found."""

from argparse import ArgumentParser, Namespace

from compilewatch_client import terminal
from compilewatch_client.api_types import BisectionDocument
from compilewatch_client.commands.options import OK, add_site_options, connect

NOT_FOUND = 1


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("base", help="the older torch build, as 2.11.0")
    parser.add_argument("new", help="the newer one, as 2.13.0")
    parser.add_argument("--benchmark", required=True, help="a benchmark of the case that changed")
    parser.add_argument("--config", required=True, help="its config")
    parser.add_argument(
        "--metric", default="latency_ms", help="what changed (latency_ms); passed: it began to fail"
    )
    parser.add_argument(
        "--machine", default="", help="key of a machine (the only one with a worker)"
    )
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    add_site_options(parser)


def run(options: Namespace) -> int:
    with connect(options) as client:
        bisection = client.bisect(
            options.base,
            options.new,
            benchmark=options.benchmark,
            config=options.config,
            metric=options.metric,
            machine=options.machine,
        )
        number = bisection["id"]
        if not options.no_watch:
            terminal.print_note(bisection["url"])
            bisection = terminal.follow(lambda: client.bisection(number))
    if options.json:
        terminal.print_json(bisection)
    elif options.no_watch:
        terminal.print_text(bisection["url"])
    else:
        _print_end(bisection)
    return OK if options.no_watch or bisection["state"] == "found" else NOT_FOUND


def _print_end(bisection: BisectionDocument) -> None:
    end = f"{bisection['state']}: {bisection['message']}\n{bisection['commit_range']}"
    rows = []
    for step in bisection["steps"]:
        rows.append((step["build"], step["verdict"].replace("_", " "), str(step["repeats"])))
    terminal.print_text(end.rstrip())
    terminal.print_table(("Build", "It is", "Processes"), rows, numbers=("Processes",))
    terminal.print_text(f"\n{bisection['url']}")
