"""Records a history that `make demo` plays (dashboard/demo/services/history_replay.py), with the suite alone.

    python -m tests.end_to_end.history list --benchmark NAME --variant JSON --label LABEL > LIST
    python -m benchmarks_suite batch LIST OUT
    python -m tests.end_to_end.history keep OUT tests/data/NAME_history/results.jsonl.gz

`list` prints what is to be measured, in this order: the plain build as a schedule would measure it,
    round by round; as
many rounds of the variant as it takes to be found; then pairs of both, which answer what the site
measures again; and, if asked for, rounds of the plain build until the alert has recovered. Rounds
have the purpose `scheduled`, pairs
`confirmation`. An interrupted `batch` goes on where it was. `keep` writes the results, one a line,
    as the suite wrote
them.
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
    listed = commands.add_parser("list", help="print the list for `benchmarks_suite batch`")
    listed.add_argument("--benchmark", required=True)
    listed.add_argument("--config", default="inductor")
    listed.add_argument(
        "--variant", required=True, type=json.loads, help='{"inductor": {…}} or {"env": {…}}'
    )
    listed.add_argument(
        "--label", required=True, help="of the variant's build, as 2.13.0+cpu~narrow-vectors"
    )
    listed.add_argument("--device", default="cpu")
    listed.add_argument("--budget-s", type=float, default=1, help="seconds of sampling in each job")
    listed.add_argument(
        "--target-percent",
        type=float,
        default=4,
        help="half the interval at which sampling may end",
    )
    listed.add_argument("--threads", type=int, default=1)
    listed.add_argument("--compile-threads", type=int, default=1)
    listed.add_argument(
        "--starts", nargs="*", default=["cold"], help="of each job, beside its steps (cold)"
    )
    listed.add_argument(
        "--rounds", type=int, default=24, help="plain rounds, of which the site learns the noise"
    )
    listed.add_argument(
        "--rounds-changed", type=int, default=6, help="rounds of the variant, until it is found"
    )
    listed.add_argument(
        "--pairs", type=int, default=6, help="what is measured again, in turn: 4 at least"
    )
    listed.add_argument(
        "--rounds-after", type=int, default=0, help="plain rounds at the end: 6 or more to recover"
    )
    kept = commands.add_parser(
        "keep", help="write the results of `benchmarks_suite batch` into one file"
    )
    kept.add_argument("out", type=Path)
    kept.add_argument("file", type=Path)
    given = parser.parse_args()
    if given.command == "keep":
        keep(given.out, given.file)
    else:
        sys.stdout.writelines(f"{json.dumps(line)}\n" for line in lines(given))
    return 0


def lines(given: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """The jobs, in the order of measuring."""
    measure = {
        "budget_s": given.budget_s,
        "target_percent": given.target_percent,
        "single_steps": 0,
        "starts": given.starts,
        "keep_code": False,
        "threads": given.threads,
        "compile_threads": given.compile_threads,
    }
    plain: dict[str, Any] = {
        "benchmark": given.benchmark,
        "config": given.config,
        "device": given.device,
        "timeout_s": 300,
        "measure": measure,
    }
    varied = {**plain, "variant": given.variant, "build": given.label}
    scheduled, confirmation = {"purpose": "scheduled"}, {"purpose": "confirmation"}
    yield from [{**plain, **scheduled}] * given.rounds
    yield from [{**varied, **scheduled}] * given.rounds_changed
    yield from [{**plain, **confirmation}, {**varied, **confirmation}] * given.pairs
    yield from [{**plain, **scheduled}] * given.rounds_after


def keep(out: Path, file: Path) -> None:
    """Write every result under `out`, in the order of the list."""
    file.parent.mkdir(parents=True, exist_ok=True)
    with gzip.GzipFile(file, "wb", mtime=0) as packed:
        for result in sorted(out.glob("*/result.json")):
            packed.write(
                json.dumps(json.loads(result.read_text()), separators=(",", ":")).encode() + b"\n"
            )


if __name__ == "__main__":
    sys.exit(main())
