"""Prints how many recorded processes took which config of the MLP's and of DiT's GELU.

    python docs/findings/recorded_launches.py

From the profiles of processes that chose for themselves, on H200s: threads a block, in how many
processes, and the milliseconds of the GPU's own time that one compiled step's GELUs took.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks_suite.harness import recorded  # noqa: E402
from benchmarks_suite.harness.contract import Document  # noqa: E402

FOLDERS = ("h200_own_launches", "h200_decided", "h200_answered", "h200_host_bound")
MODELS = {"mlp": "MLP", "dit": "DiT"}
RELEASES = ("2.11.0+cu130", "2.15.0+cu132")


def rows() -> Iterator[tuple[str, ...]]:
    """One for each model, release and number of threads."""
    times: dict[tuple[str, str, int], list[float]] = defaultdict(list)
    for folder in FOLDERS:
        for document in recorded.read(ROOT / "tests" / "data" / folder):
            model = document["benchmark"]["model"]
            release = document["environment"]["torch"]["version"]
            if model not in MODELS or release not in RELEASES:
                continue
            gelus = _gelus(document)
            (threads,) = {each["block"][0] for each in gelus}
            times[model, release, threads].append(sum(each["ms"] for each in gelus))
    for (model, release, threads), values in sorted(times.items(), reverse=True):
        ends = dict.fromkeys(f"{end:.3g}" for end in (min(values), max(values)))
        yield MODELS[model], release, str(threads), str(len(values)), " to ".join(ends)


def _gelus(document: Document) -> list[Document]:
    kernels = document["profile"]["compiled"]["kernels"]
    return [kernel for kernel in kernels if "_gelu" in kernel["name"]]


def table() -> str:
    lines = [
        "| model | torch | threads a block | processes | GELU, ms of a step |",
        "|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
