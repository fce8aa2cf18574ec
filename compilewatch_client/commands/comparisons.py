"""`compare` and `upgrade-report`: two builds, measured in turn, and the answer."""

from argparse import ArgumentParser, Namespace

from compilewatch_client import terminal
from compilewatch_client.api_types import ComparisonDocument, ReportDocument, ReportedCaseDocument
from compilewatch_client.client import Client
from compilewatch_client.commands.options import OK, add_selection, add_site_options, connect


def add_comparison_options(parser: ArgumentParser) -> None:
    """Add the options of `compare` and `gate` for what is measured."""
    parser.add_argument(
        "--machine", default="", help="key of a machine (the only one with a worker)"
    )
    add_selection(parser, "model", "family", "benchmark", "config")
    parser.add_argument(
        "--repeats", type=int, default=3, help="processes for each case and build (3)"
    )
    parser.add_argument("--label", default="", help="the report's title")


def add_compare_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("base", help="a torch build, as 2.11.0")
    parser.add_argument("new", help="another one, as 2.13.0")
    add_comparison_options(parser)
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    add_site_options(parser)


def start_comparison(client: Client, options: Namespace) -> ComparisonDocument:
    return client.compare(
        options.base,
        options.new,
        models=options.model,
        families=options.family,
        benchmarks=options.benchmark,
        configs=options.config,
        machine=options.machine,
        repeats=options.repeats,
        label=options.label,
    )


def compare(options: Namespace) -> int:
    with connect(options) as client:
        comparison = start_comparison(client, options)
        if not options.no_watch:
            follow_comparison(client, comparison)
            _print_report(client.report(comparison["id"]), options)
        elif options.json:
            terminal.print_json(comparison)
        else:
            terminal.print_text(comparison["url"])
        return OK


def follow_comparison(client: Client, comparison: ComparisonDocument) -> None:
    terminal.print_note(comparison["url"])
    terminal.follow(lambda: client.comparison(comparison["id"]))


def add_report_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("comparison", help="the id of a comparison, as its address has it")
    parser.add_argument(
        "--markdown", action="store_true", help="the whole report, for a pull request or a mail"
    )
    add_site_options(parser)


def upgrade_report(options: Namespace) -> int:
    with connect(options) as client:
        if options.markdown:
            terminal.print_text(client.report_markdown(options.comparison))
        else:
            _print_report(client.report(options.comparison), options)
        return OK


def _print_report(report: ReportDocument, options: Namespace) -> None:
    if options.json:
        terminal.print_json(report)
        return
    terminal.print_text(report["question"])
    if report["so_far"]:
        terminal.print_text(report["so_far"])
    terminal.print_text(f"{report['answer'].capitalize()}. {report['sentence']}\n")
    models = [
        (name, model["answer"], model["sentence"]) for name, model in report["models"].items()
    ]
    terminal.print_table(("Model", "Answer", "Why"), models)
    changes = [_change_row(case) for case in report["cases"] if case["grade"]]
    if changes:
        terminal.print_text("\nChanges")
        terminal.print_table(
            ("Benchmark", "Config", "Metric", "Base", "New", "Change", "Verdict"),
            changes,
            numbers=("Base", "New", "Change"),
        )
    terminal.print_text(f"\n{report['address']}")


def _change_row(case: ReportedCaseDocument) -> tuple[str, ...]:
    percent = case["change_percent"]
    return (
        case["benchmark"],
        case["config"],
        case["metric"],
        terminal.format_number(case["base"], case["unit"]),
        terminal.format_number(case["new"], case["unit"]),
        "–" if percent is None else f"{percent:+.1f}%",
        f"{case['verdict']}, {case['grade']}",
    )
