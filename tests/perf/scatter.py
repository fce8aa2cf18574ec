"""How far kept results of one thing lie apart: between processes of a build, and between releases.

    python -m tests.perf.scatter RESULTS... [--metric drift] [--metric drift_loss]

RESULTS: as `benchmarks_suite coverage` takes them. One thing is a case on a machine, plain or as a
variant. What is printed is the highest value over the lowest, less 1, in percent: the widest of
all, and how many repeat exactly.
"""

import json
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from statistics import median

from benchmarks_suite.harness import recorded

DRIFTS = (
    "drift",
    "eager_drift",
    "drift_gradients",
    "eager_drift_gradients",
    "drift_loss",
    "eager_drift_loss",
)
# Thing -> release -> the value of each process
Values = Mapping[str, Mapping[str, Sequence[float]]]


def main() -> None:
    parser = ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument(
        "results", nargs="+", type=Path, help="result files, .jsonl(.gz) of them, or folders"
    )
    parser.add_argument("--metric", action="append", help="a metric's key; repeatable (the drifts)")
    given = parser.parse_args()
    documents = [document for path in given.results for document in recorded.read(path)]
    print(
        "| metric | builds with several processes | exactly the same | widest | releases "
        "compared | widest |"
    )
    print("|---|---|---|---|---|---|")
    for metric in given.metric or DRIFTS:
        print(row(metric, values_of(metric, documents)))


def values_of(metric: str, documents: Iterable[recorded.Document]) -> Values:
    found: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for one in documents:
        if metric in one["metrics"]:
            machine = one["environment"]["machine"]
            thing = json.dumps(
                [
                    recorded.case(one),
                    one["job"].get("variant"),
                    machine.get("gpu") or machine.get("cpu"),
                ]
            )
            found[thing][one["environment"]["torch"]["version"]].append(
                one["metrics"][metric]["value"]
            )
    return found


def row(metric: str, values: Values) -> str:
    repeated = [
        processes
        for by_release in values.values()
        for processes in by_release.values()
        if len(processes) > 1
    ]
    several = [
        list(map(median, by_release.values()))
        for by_release in values.values()
        if len(by_release) > 1
    ]
    within, across = [apart(one) for one in repeated], [apart(one) for one in several]
    processes = sum(map(len, repeated))
    told = f"{len(within)} ({processes} processes) | {within.count(0.0)} | {widest(within)}"
    return f"| `{metric}` | {told} | {len(across)} | {widest(across)} |"


def widest(spreads: Sequence[float]) -> str:
    return f"{float(f'{max(spreads):.2g}'):g} %" if spreads else ""


def apart(values: Sequence[float]) -> float:
    """Percent by which the highest is above the lowest; values that are equal to 9 digits repeat
    exactly.
    """
    spread = 100 * (max(values) / min(values) - 1) if min(values) > 0 else 100.0 * (max(values) > 0)
    return spread if spread > 1e-7 else 0.0


if __name__ == "__main__":
    main()
