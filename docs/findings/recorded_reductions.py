"""Prints how long the UNet's group norms took in each recorded process.

    python docs/findings/recorded_reductions.py

From the profiles in tests/data/h200_own_launches: milliseconds of the GPU's own time in one
compiled step, of kernels that Inductor generated with the whole row of a reduction in one block,
and of all kernels; means of the processes.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from statistics import fmean

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks_suite.harness import recorded  # noqa: E402

CASE = ("sd_unet.standard.inference.float16.static.b4", "inductor")
ROWS = "triton_per_"  # how the names of such kernels begin
NORM = "native_group_norm"


def rows() -> Iterator[tuple[str, ...]]:
    """One for each release."""
    groups: dict[str, list[tuple[float, float, float]]] = defaultdict(list)
    for document in recorded.read(ROOT / "tests" / "data" / "h200_own_launches"):
        if recorded.case(document) != CASE:
            continue
        profile = document["profile"]["compiled"]
        norms = [each for each in profile["kernels"] if NORM in each["name"]]
        in_a_block = [each for each in norms if each["name"].startswith(ROWS)]
        times = [sum(each["ms"] for each in group) for group in (in_a_block, norms)]
        groups[document["environment"]["torch"]["version"]].append((*times, profile["busy_ms"]))
    for version, processes in sorted(groups.items()):
        yield version, *(f"{fmean(times):.3g}" for times in zip(*processes, strict=True))


def table() -> str:
    lines = [
        "| torch | group norms, row in a block, ms | all group norms, ms | the step, ms |",
        "|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
