"""`factors`: measure one case in every combination of some factors, and say which moved it."""

from argparse import ArgumentParser, Namespace

from compilewatch_client import terminal
from compilewatch_client.api_types import FactorialReportDocument
from compilewatch_client.client import Client
from compilewatch_client.commands.options import OK, add_site_options, connect
from compilewatch_client.connection import Document


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--benchmark", required=True, help="the benchmark of the case")
    parser.add_argument("--config", default="inductor", help="its config (inductor)")
    parser.add_argument(
        "--level",
        action="append",
        required=True,
        metavar="NAME=A,B",
        help="torch, cuda, a library or variant, and its levels; may be given again",
    )
    parser.add_argument(
        "--machine", default="", help="key of a machine (the only one with a worker)"
    )
    parser.add_argument("--repeats", type=int, default=3, help="rounds: processes an arm (3)")
    parser.add_argument("--label", default="", help="the page's title")
    parser.add_argument(
        "--dry-run", action="store_true", help="say what it costs and can show; start nothing"
    )
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    add_site_options(parser)


def run(options: Namespace) -> int:
    request: Document = {
        "benchmark": options.benchmark,
        "config": options.config,
        "levels": _levels(options.level),
        "machine": options.machine,
        "repeats": options.repeats,
        "label": options.label,
    }
    with connect(options) as client:
        if options.dry_run:
            _print_plan(client, request, options)
            return OK
        factorial = client.start_factorial(**request)
        if options.no_watch:
            if options.json:
                terminal.print_json(factorial)
            else:
                terminal.print_text(factorial["url"])
            return OK
        terminal.print_note(factorial["url"])
        terminal.follow(lambda: client.factorial(factorial["id"]))
        _print_report(client.factorial_report(factorial["id"]), options)
        return OK


def _levels(options: list[str]) -> dict[str, list[str]]:
    """NAME=A,B of each option; the site refuses what is written otherwise, with the name."""
    levels: dict[str, list[str]] = {}
    for option in options:
        name, _, text = option.partition("=")
        levels.setdefault(name, []).extend(part for part in text.split(",") if part)
    return levels


def _print_plan(client: Client, request: Document, options: Namespace) -> None:
    plan = client.plan_factorial(**request)
    if options.json:
        terminal.print_json(plan)
        return
    minutes = plan["expected_s"] / 60
    terminal.print_text(f"{plan['jobs']} jobs, about {minutes:.0f} min of work")
    rows = [(arm, "measured", "") for arm in plan["arms"]]
    rows += [(out["arm"], "left out", out["why"]) for out in plan["excluded"]]
    terminal.print_table(("Combination", "", "Why"), rows)
    for effect in plan["aliased"]:
        terminal.print_text(f"cannot be shown: {effect}")


def _print_report(report: FactorialReportDocument, options: Namespace) -> None:
    if options.json:
        terminal.print_json(report)
        return
    terminal.print_text(f"{report['answer']}. {report['sentence']}")
    rows = []
    for metric in report["metrics"]:
        for effect in metric["effects"]:
            word = effect["verdict"]
            if effect["suspected"]:
                word = f"suspected: {effect['suspected']}"
            what = f"{effect['what']} {effect['over']}".rstrip()
            rows.append((metric["metric"], what, _change(effect), word))
    terminal.print_table(("Metric", "Exchanged", "Change", "It is"), rows, numbers=("Change",))
    for out in report["left_out"]:
        terminal.print_text(f"left out, {out['arm']}: {out['why']}")
    terminal.print_text(f"\n{report['url']}")


def _change(effect: Document) -> str:
    """+6.2% (+5.1 to +7.4)"""
    text = f"{effect['change_percent']:+.1f}%"
    if effect["low_percent"] is None:
        return text
    return f"{text} ({effect['low_percent']:+.1f} to {effect['high_percent']:+.1f})"
