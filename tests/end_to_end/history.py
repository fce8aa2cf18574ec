"""Records a history for `make demo` (dashboard/demo/services/history_replay.py) with the suite.

    python -m tests.end_to_end.history list --benchmark NAME --variant JSON --label LABEL > LIST
    python -m benchmarks_suite batch LIST OUT
    python -m tests.end_to_end.history keep OUT tests/data/NAME_history/results.jsonl.gz

`list` prints what is to be measured, in this order: the plain build as a schedule would measure it,
round by round; as many rounds of the variant as it takes to be found; then pairs of both, which
answer what the site measures again; and, with --rounds-after, rounds of the plain build until the
alert has recovered. Rounds have the purpose `scheduled`, pairs `confirmation`. An interrupted
`batch` continues where it was. `keep` writes the results, one a line, as the suite wrote them.
"""

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    commands = parser.add_subparsers(dest="command", required=True)
    _declare_list(commands.add_parser("list", help="print the list for `benchmarks_suite batch`"))
    keep_parser = commands.add_parser(
        "keep", help="write the results of `benchmarks_suite batch` into one file"
    )
    keep_parser.add_argument("out", type=Path)
    keep_parser.add_argument("file", type=Path)
    options = parser.parse_args()
    if options.command == "keep":
        keep(options.out, options.file)
    else:
        sys.stdout.writelines(f"{json.dumps(line)}\n" for line in lines(options))
    return 0


def _declare_list(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--benchmark", required=True)
    parser.add_argument("--config", default="inductor")
    parser.add_argument(
        "--variant", required=True, type=json.loads, help='{"inductor": {…}} or {"env": {…}}'
    )
    parser.add_argument(
        "--label", required=True, help="of the variant's build, as 2.13.0+cpu~narrow-vectors"
    )
    parser.add_argument("--device", default="cpu")
    parser.add_argument(
        "--budget-s",
        type=float,
        default=1,
        help="seconds of sampling in each job",
    )
    parser.add_argument(
        "--target-percent",
        type=float,
        default=4,
        help="half the interval at which sampling may end",
    )
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--compile-threads", type=int, default=1)
    parser.add_argument(
        "--starts", nargs="*", default=["cold"], help="of each job, before its steps (cold)"
    )
    parser.add_argument(
        "--rounds", type=int, default=24, help="plain rounds, of which the site learns the noise"
    )
    parser.add_argument(
        "--rounds-changed", type=int, default=6, help="rounds of the variant, until it is found"
    )
    parser.add_argument(
        "--pairs", type=int, default=6, help="what is measured again, in turn: 5 at least"
    )
    parser.add_argument(
        "--rounds-after", type=int, default=0, help="plain rounds at the end: 6 or more to recover"
    )


def lines(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The jobs, in the order of measuring."""
    measure = {
        "budget_s": options.budget_s,
        "target_percent": options.target_percent,
        "single_steps": 0,
        "starts": options.starts,
        "keep_code": False,
        "threads": options.threads,
        "compile_threads": options.compile_threads,
    }
    plain: dict[str, Any] = {
        "benchmark": options.benchmark,
        "config": options.config,
        "device": options.device,
        "timeout_s": 300,
        "measure": measure,
    }
    varied = {**plain, "variant": options.variant, "build": options.label}
    scheduled, confirmation = {"purpose": "scheduled"}, {"purpose": "confirmation"}
    yield from [{**plain, **scheduled}] * options.rounds
    yield from [{**varied, **scheduled}] * options.rounds_changed
    yield from [{**plain, **confirmation}, {**varied, **confirmation}] * options.pairs
    yield from [{**plain, **scheduled}] * options.rounds_after


def keep(out: Path, file: Path) -> None:
    """Writes every result under `out`, in the order of the list."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        for result in sorted(out.glob("*/result.json")):
            document = json.loads(result.read_text())
            packed.write(json.dumps(document, separators=(",", ":")).encode() + b"\n")


if __name__ == "__main__":
    sys.exit(main())
