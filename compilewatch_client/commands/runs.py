"""`run` and `watch`. Exit code 0: every job passed; 1: some did not."""

from argparse import ArgumentParser, Namespace

from compilewatch_client import terminal
from compilewatch_client.api_types import RunDocument
from compilewatch_client.client import Client
from compilewatch_client.commands.options import OK, add_selection, add_site_options, connect
from compilewatch_client.connection import Document
from dashboard.language.wording import plural

NOT_PASSED = 1


def add_run_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "build", help="a torch build, as 2.13.0+cpu; a version is enough where one build has it"
    )
    parser.add_argument(
        "--machine", default="", help="key of a machine (the only one with a worker)"
    )
    parser.add_argument("--track", default="local", help="key of a track (local)")
    add_selection(parser, "model", "family", "benchmark", "config")
    parser.add_argument("--label", default="", help="shown with the run")
    parser.add_argument(
        "--dry-run", action="store_true", help="print what would be measured, and measure nothing"
    )
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    add_site_options(parser)


def run(options: Namespace) -> int:
    fields = {
        "models": options.model,
        "families": options.family,
        "benchmarks": options.benchmark,
        "configs": options.config,
        "machine": options.machine,
        "track": options.track,
        "label": options.label,
    }
    with connect(options) as client:
        if options.dry_run:
            _print_plan(client, options, fields)
            return OK
        run = client.trigger(options.build, **fields)
        if options.no_watch:
            print_triggered(run, options)
            return OK
        terminal.print_note(run["url"])
        return _follow(client, run["id"], options)


def _print_plan(client: Client, options: Namespace, fields: Document) -> None:
    plan = client.plan(options.build, **fields)
    if options.json:
        terminal.print_json(plan)
        return
    jobs = plural(len(plan["cases"]), "job")
    terminal.print_table(("Benchmark", "Config"), plan["cases"])
    terminal.print_text(f"{jobs} on {plan['machine']}, {plan['build']}")


def print_triggered(run: RunDocument, options: Namespace) -> None:
    if options.json:
        terminal.print_json(run)
    else:
        terminal.print_text(f"run {run['id']}: {plural(run['jobs']['total'], 'job')}")


def add_watch_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("run", type=int, help="number of the run")
    add_site_options(parser)


def watch(options: Namespace) -> int:
    with connect(options) as client:
        return _follow(client, options.run, options)


def _follow(client: Client, number: int, options: Namespace) -> int:
    run = terminal.follow(lambda: client.run(number))
    if options.json:
        terminal.print_json(run)
    else:
        _print_end(client, run)
    return OK if run["jobs"]["passed"] == run["jobs"]["total"] else NOT_PASSED


def _print_end(client: Client, run: RunDocument) -> None:
    jobs = run["jobs"]
    numbers = {name: jobs[name] for name in ("passed", "failed", "cancelled")}
    counts = ", ".join(f"{number} {name}" for name, number in numbers.items() if number)
    terminal.print_text(f"run {run['id']} {run['state']}: {counts or 'no job'}\n{run['url']}")
    rows = []
    for job in client.jobs(run=run["id"]):
        if job["status"] not in ("", "pass"):
            rows.append((job["benchmark"], job["config"], job["status"], job["message"][:120]))
    if rows:
        terminal.print_table(("Benchmark", "Config", "Status", "Why"), rows)
