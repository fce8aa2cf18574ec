"""Prints how long dynamo's look-up of a compiled step took in each recorded release.

    python docs/findings/recorded_guards.py

From tests/data/h200_four_releases: microseconds of the look-ups in a step, guards included, of each
process (`lookup_us` of a result, docs/measuring.md#call-overhead).
"""

import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks_suite.harness import recorded  # noqa: E402


def table() -> str:
    cases: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for document in recorded.read(ROOT / "tests" / "data" / "h200_four_releases"):
        benchmark, _ = recorded.case(document)
        model, _, mode, *_ = benchmark.split(".")
        release = document["environment"]["torch"]["version"].partition("+")[0]
        if "calls" in document:
            three_digits = float(f"{document['calls']['lookup_us']:.3g}")
            cases[f"{model}, {mode}"][release].append(f"{three_digits:,g}")
    releases = sorted({release for by_release in cases.values() for release in by_release})
    lines = [f"| case | {' | '.join(releases)} |", "|---" * (len(releases) + 1) + "|"]
    for case, by_release in sorted(cases.items()):
        cells = (", ".join(by_release[release]) for release in releases)
        lines.append(f"| {case} | {' | '.join(cells)} |")
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
