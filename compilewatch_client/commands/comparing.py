"""`compare` and `upgrade-report`: two builds, measured in turn, and the answer."""

from argparse import ArgumentParser, Namespace
from typing import Any

from compilewatch_client import screen
from compilewatch_client.client import Client
from compilewatch_client.commands.asking import client, declare_selection, declare_site, selected
from compilewatch_client.documents import Report

OK = 0
_FIELDS = {"models": "model", "families": "family", "benchmarks": "benchmark", "configs": "config"}


def declare_builds(parser: ArgumentParser) -> None:
    """What is measured, of `compare` and of `gate`."""
    parser.add_argument("--machine", default="", help="key of a machine (the only one)")
    declare_selection(parser, *_FIELDS.values())
    parser.add_argument(
        "--repeats", type=int, default=5, help="processes for each case and build (5)"
    )
    parser.add_argument("--label", default="", help="the report's title")


def declare_compare(parser: ArgumentParser) -> None:
    parser.add_argument("base", help="a torch build, as 2.11.0")
    parser.add_argument("new", help="another one, as 2.13.0")
    declare_builds(parser)
    parser.add_argument("--no-watch", action="store_true", help="do not wait for its end")
    declare_site(parser)


def what(options: Namespace) -> dict[str, Any]:
    """The fields of the API that the options mean."""
    return selected(
        options, {**_FIELDS, "machine": "machine", "repeats": "repeats", "label": "label"}
    )


def compare(options: Namespace) -> int:
    with client(options) as site:
        made = site.compare(options.base, options.new, **what(options))
        if options.no_watch:
            screen.as_json(made) if options.json else screen.say(made["url"])
            return OK
        screen.err().print(made["url"])
        screen.follow(lambda: site.comparison(made["id"]))
        return _answer(site, made["id"], options)


def declare_report(parser: ArgumentParser) -> None:
    parser.add_argument("comparison", help="the id of a comparison, as its address has it")
    parser.add_argument(
        "--markdown", action="store_true", help="the whole report, for a pull request or a mail"
    )
    declare_site(parser)


def upgrade_report(options: Namespace) -> int:
    with client(options) as site:
        if options.markdown:
            screen.say(site.report_markdown(options.comparison))
            return OK
        return _answer(site, options.comparison, options)


def _answer(site: Client, comparison: str, options: Namespace) -> int:
    report = site.report(comparison)
    screen.as_json(report) if options.json else _tell(report)
    return OK


def _tell(report: Report) -> None:
    screen.say(f"{report['question']}\n{report['answer']}. {report['sentence']}\n")
    rows = [(name, told["answer"], told["sentence"]) for name, told in report["models"].items()]
    screen.table(("Model", "Answer", "Why"), rows)
    changed = [case for case in report["cases"] if case["significant"]]
    if changed:
        screen.say("\nSignificant changes")
        numbers = ("Base", "New", "Change")
        screen.table(
            ("Benchmark", "Config", "Metric", *numbers, "Verdict"),
            map(_cells, changed),
            numbers=numbers,
        )
    screen.say(f"\n{report['address']}")


def _cells(case: dict[str, Any]) -> tuple[str, ...]:
    sides = (screen.number(case[side], case["unit"]) for side in ("base", "new"))
    percent = case["change_percent"]
    change = "–" if percent is None else f"{percent:+.1f} %"
    return case["benchmark"], case["config"], case["metric"], *sides, change, case["verdict"]
