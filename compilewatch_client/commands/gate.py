"""`gate`: may this change go in? The answer as Markdown for a pull request, and as the exit code.

Where --base and --new are interpreters (paths), both are measured in turn on this machine; else
they are builds that the site knows, and the site measures them. Exit code 0: nothing got
worse; 1: certainly worse; 2: it could not be measured; 3: unclear, or likely worse, with what would
decide.
"""

import tempfile
from argparse import ArgumentParser, Namespace
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from compilewatch_client import terminal
from compilewatch_client.commands.comparisons import (
    add_comparison_options,
    follow_comparison,
    start_comparison,
)
from compilewatch_client.commands.options import add_site_options, connect
from compilewatch_client.errors import ClientError
from compilewatch_client.local_measurement import (
    LocalCase,
    LocalSelection,
    LocalSide,
    SideName,
    measure,
    select_cases,
)


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument(
        "--base", required=True, help="a build that the site knows, or the path of an interpreter"
    )
    parser.add_argument("--new", required=True, help="the same, of what is to go in")
    add_comparison_options(parser)
    parser.add_argument(
        "--metric", action="append", default=[], help="judge this metric only; repeatable"
    )
    parser.add_argument(
        "--markdown", type=Path, metavar="FILE", help="append the answer to this file, too"
    )
    _add_local_arguments(parser)
    add_site_options(parser)


def _add_local_arguments(parser: ArgumentParser) -> None:
    paths: dict[str, Any] = {"action": "append", "default": [], "metavar": "PATH"}
    group = parser.add_argument_group("on this machine")
    group.add_argument("--from", dest="sources", help="own models, both sides", **paths)
    group.add_argument("--base-from", help="own models as they were", **paths)
    group.add_argument("--new-from", help="own models as they are to be", **paths)
    group.add_argument("--device", default="cpu", help="cpu, cuda or cuda:N (cpu)")
    group.add_argument(
        "--size",
        choices=("smoke", "standard"),
        help="size of the suite's benchmarks (smoke; standard on a GPU)",
    )
    group.add_argument(
        "--budget-s", type=float, default=5.0, help="seconds of sampling in each process (5)"
    )
    group.add_argument("--out", type=Path, help="keep the results in this folder")


def run(options: Namespace) -> int:
    if options.markdown:
        options.markdown.open("a").close()  # before hours are spent
    if _is_path(options.base) != _is_path(options.new):
        raise ClientError(
            "One of --base and --new is a path and the other is not: give two interpreters, or "
            "two builds."
        )
    if _is_path(options.base):
        gate = _local_gate(options)
    else:
        with connect(options) as client:
            comparison = start_comparison(client, options)
            follow_comparison(client, comparison)
            gate = client.gate(comparison["id"], options.metric)
    if options.markdown:
        with options.markdown.open("a", encoding="utf-8") as file:
            file.write(gate["markdown"])
    if options.json:
        terminal.print_json(gate)
    else:
        terminal.print_text(gate["markdown"])
    if gate["not_measured"] and gate["exit_code"] == 2:
        raise ClientError(f"Not measured: {gate['not_measured'][0]}")
    return int(gate["exit_code"])


def _is_path(text: str) -> bool:
    return "/" in text or Path(text).is_file()


def _local_gate(options: Namespace) -> Mapping[str, Any]:
    if options.repeats < 1:
        raise ClientError("--repeats is the number of processes: give 1 or more.")
    if options.family:
        raise ClientError(
            "--family is for the site: on this machine choose by --model, --benchmark and --config."
        )
    # Needs numpy and scipy, which a client of a site does not
    from compilewatch_client.local_gate import check_metrics, decide_gate

    check_metrics(options.metric)
    with tempfile.TemporaryDirectory(prefix="compilewatch-gate-") as folder:
        return decide_gate(_measure_both(options, options.out or Path(folder)), options.metric)


def _measure_both(options: Namespace, out: Path) -> dict[SideName, list[Path]]:
    """The result files of each side. What likely changed is measured again, once."""
    from compilewatch_client.local_gate import cases_to_measure_again
    from dashboard.judgement.looks import CERTAIN_PAIRS

    size = options.size or ("smoke" if options.device == "cpu" else "standard")
    selection = LocalSelection(options.model, options.benchmark, options.config, size)
    base = LocalSide("base", options.base, [*options.sources, *options.base_from])
    new = LocalSide("new", options.new, [*options.sources, *options.new_from])
    cases = select_cases([base, new], selection)
    results = _measure(options, [base, new], cases, options.repeats, out)
    if again := cases_to_measure_again(results, options.metric):
        repeats = max(1, CERTAIN_PAIRS - options.repeats)
        more = _measure(options, [base, new], again, repeats, out / "again")
        for name, paths in more.items():
            results[name] += paths
    return results


def _measure(
    options: Namespace,
    sides: Sequence[LocalSide],
    cases: Sequence[LocalCase],
    repeats: int,
    out: Path,
) -> dict[SideName, list[Path]]:
    with terminal.progress("measuring") as show:
        return measure(
            sides,
            cases,
            repeats=repeats,
            device=options.device,
            settings={"budget_s": options.budget_s},
            out=out,
            report=show,
        )
