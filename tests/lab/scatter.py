"""How far kept results of one thing lie apart: between processes of a build, and between releases.

    python -m tests.lab.scatter RESULTS... [--metric drift] [--metric drift_loss]

RESULTS: files or folders of results. One thing is a case, in one version of its
benchmark, with as many steps before the loss is compared, on a machine, plain or as a variant. It
prints the highest value over the lowest, less 1, in percent: the widest of all, and how many repeat
exactly; and of values above 0 the standard deviation of ln(value) between processes, pooled.
"""

import json
from argparse import ArgumentParser
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from math import log, sqrt
from pathlib import Path
from statistics import median, variance

from benchmarks_suite.harness import contract, recorded

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
    options = parser.parse_args()
    documents = list[contract.Document]()
    for path in options.results:
        documents += recorded.read(path)
    within = "builds with several processes | exactly the same | widest | deviation"
    print(f"| metric | {within} | releases compared | widest |")
    print("|---|---|---|---|---|---|---|")
    for metric in options.metric or DRIFTS:
        print(row(metric, values_of(metric, documents)))


def values_of(metric: str, documents: Iterable[contract.Document]) -> Values:
    values: dict[str, dict[str, list[float]]] = defaultdict(lambda: defaultdict(list))
    for document in documents:
        if metric in document["metrics"]:
            environment = document["environment"]
            machine = environment["machine"]
            hardware = machine.get("gpu") or machine.get("cpu")
            variant = document["job"].get("variant")
            version = document["benchmark"]["version"]
            steps = document["job"]["measure"].get("loss_steps")
            thing = json.dumps([recorded.case(document), version, steps, variant, hardware])
            release = environment["torch"]["version"]
            values[thing][release].append(document["metrics"][metric]["value"])
    return values


def row(metric: str, values: Values) -> str:
    within, across, processes = list[float](), list[float](), 0
    squares, freedom = 0.0, 0
    for by_release in values.values():
        if len(by_release) > 1:
            across.append(apart(list(map(median, by_release.values()))))
        for repeated in by_release.values():
            if len(repeated) > 1:
                within.append(apart(repeated))
                processes += len(repeated)
                if min(repeated) > 0:
                    logs = list(map(log, repeated))
                    squares += variance(logs) * (len(logs) - 1)
                    freedom += len(logs) - 1
    deviation = f"{100 * sqrt(squares / freedom):.1f}%" if freedom else ""
    same = within.count(0.0)
    builds = f"{len(within)} ({processes} processes) | {same} | {widest(within)} | {deviation}"
    return f"| `{metric}` | {builds} | {len(across)} | {widest(across)} |"


def widest(spreads: Sequence[float]) -> str:
    if not spreads:
        return ""
    two_digits = float(f"{max(spreads):.2g}")
    return f"{two_digits:g}%"


def apart(values: Sequence[float]) -> float:
    """Percent by which the highest is above the lowest; 0 where they are equal to 9 digits."""
    lowest, highest = min(values), max(values)
    if lowest <= 0:
        return 100.0 if highest > 0 else 0.0
    spread = 100 * (highest / lowest - 1)
    return spread if spread > 1e-7 else 0.0


if __name__ == "__main__":
    main()
