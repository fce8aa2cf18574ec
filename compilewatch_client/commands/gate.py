"""`gate`: may this change go in? The answer as Markdown for a pull request, and as the exit code.

Where --base and --new are interpreters (paths), both are measured in turn on this machine; else
they are builds that the site knows, and the site measures them. Exit code 0: no significant
regression; 1: a regression; 2: it could not be measured; 3: not known yet, with what would make it
known.
"""

import tempfile
from argparse import ArgumentParser, Namespace
from pathlib import Path
from typing import Any

from compilewatch_client import local, screen
from compilewatch_client.commands import comparing
from compilewatch_client.commands.asking import client, declare_site
from compilewatch_client.errors import ClientError


def declare(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--base", required=True, help="a build that the site knows, or the path of an interpreter"
    )
    parser.add_argument("--new", required=True, help="the same, of what is to go in")
    comparing.declare_builds(parser)
    parser.add_argument(
        "--metric", action="append", default=[], help="judge this metric only; repeatable"
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="append the answer to this file, too"
    )
    here = parser.add_argument_group("on this machine")
    here.add_argument(
        "--from",
        dest="sources",
        action="append",
        default=[],
        metavar="PATH",
        help="own models, both sides",
    )
    here.add_argument(
        "--base-from", action="append", default=[], metavar="PATH", help="own models as they were"
    )
    here.add_argument(
        "--new-from",
        action="append",
        default=[],
        metavar="PATH",
        help="own models as they are to be",
    )
    here.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    here.add_argument(
        "--size", default="", help="size of the suite's benchmarks (smoke; standard on a GPU)"
    )
    here.add_argument(
        "--budget-s", type=float, default=5.0, help="seconds of sampling in each process (5)"
    )
    here.add_argument("--out", type=Path, help="keep the results in this folder")
    declare_site(parser)


def run(options: Namespace) -> int:
    are_paths = [_is_path(side) for side in (options.base, options.new)]
    if any(are_paths) and not all(are_paths):
        raise ClientError(
            "One of --base and --new is a path and the other is not: give two interpreters, or "
            "two builds."
        )
    gate = _here(options) if all(are_paths) else _on_the_site(options)
    if options.markdown:
        with options.markdown.open("a", encoding="utf-8") as file:
            file.write(gate["markdown"])
    screen.as_json(gate) if options.json else screen.say(gate["markdown"])
    return int(gate["exit_code"])


def _is_path(text: str) -> bool:
    return "/" in text or Path(text).is_file()


def _on_the_site(options: Namespace) -> dict[str, Any]:
    with client(options) as site:
        made = site.compare(options.base, options.new, **comparing.what(options))
        screen.err().print(made["url"])
        screen.follow(lambda: site.comparison(made["id"]))
        return dict(site.gate(made["id"], options.metric))


def _here(options: Namespace) -> dict[str, Any]:
    if options.family:
        raise ClientError(
            "--family is for the site: on this machine choose by --model, --benchmark and --config."
        )
    with tempfile.TemporaryDirectory(prefix="compilewatch-gate-") as folder:
        return _measured_here(options, options.out or Path(folder))


def _measured_here(options: Namespace, out: Path) -> dict[str, Any]:
    # Needs numpy and scipy, which a client of a site does not
    from compilewatch_client.verdict import judge

    size = options.size or ("smoke" if options.device == "cpu" else "standard")
    wanted = local.Wanted(options.model, options.benchmark, options.config, size)
    sides = [
        local.Side("base", options.base, [*options.sources, *options.base_from]),
        local.Side("new", options.new, [*options.sources, *options.new_from]),
    ]
    cases = local.cases(sides[0], wanted)
    with screen.bar() as shown:
        task = shown.add_task("measuring", total=2 * options.repeats * len(cases), note="")
        found = local.measure(
            sides,
            cases,
            repeats=options.repeats,
            device=options.device,
            measuring={"budget_s": options.budget_s},
            out=out,
            told=lambda note: shown.update(task, advance=1, note=note),
        )
    return judge(found["base"], found["new"], options.metric)
