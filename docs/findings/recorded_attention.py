"""Prints which attention kernels GPT-2's training step ran in each recorded process, and how long.

    python docs/findings/recorded_attention.py

From the profiles in tests/data/h[12]00_*: milliseconds of the GPU's own time in one step, medians
of the processes.
"""

import sys
from collections import defaultdict
from collections.abc import Iterator
from itertools import chain
from pathlib import Path
from statistics import median

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT))

from benchmarks_suite.harness import recorded  # noqa: E402
from benchmarks_suite.harness.contract import Document  # noqa: E402

CASE = ("gpt2.standard.training.autocast_bf16.static.b16", "inductor")
FAMILIES = {
    "cudnn": "cuDNN",
    "fmha_cutlass": "memory-efficient",
    "pytorch_flash": "flash",
}


def family_of(kernel: Document) -> str | None:
    """Whose attention kernel it is; None for every other kernel."""
    if kernel["kind"] not in ("attention", "other"):
        return None
    return next((name for part, name in FAMILIES.items() if part in kernel["name"]), None)


def measured(document: Document, arm: str) -> tuple[str, float, float]:
    """Of one step: whose attention kernels ran, their milliseconds, the whole step's."""
    profile = document["profile"][arm]
    attention = [kernel for kernel in profile["kernels"] if family_of(kernel)]
    families = sorted({str(family_of(kernel)) for kernel in attention})
    return ", ".join(families), sum(kernel["ms"] for kernel in attention), profile["busy_ms"]


def rows(documents: list[Document]) -> Iterator[tuple[str, ...]]:
    """One for each kind of GPU, release and arm; medians of its processes."""
    groups: dict[tuple[str, ...], list[tuple[float, float]]] = defaultdict(list)
    for document in documents:
        torch = document["environment"]["torch"]
        gpu = document["environment"]["machine"]["gpu"].split()[1]  # "NVIDIA H100 80GB HBM3"
        for arm in ("eager", "compiled"):
            families, attention_ms, step_ms = measured(document, arm)
            key = (gpu, torch["version"], torch["cudnn"], arm, families)
            groups[key].append((attention_ms, step_ms))
    for name, processes in sorted(groups.items()):
        attention_ms, step_ms = map(median, zip(*processes, strict=True))
        yield *name, str(len(processes)), f"{attention_ms:.2f}", f"{step_ms:.2f}"


def profiled(case: tuple[str, str], folders: str) -> list[Document]:
    """The processes of a benchmark and config that have a profile. folders: of tests/data, a
    pattern.
    """
    paths = sorted((ROOT / "tests" / "data").glob(folders))
    documents = chain.from_iterable(recorded.read(path) for path in paths)
    return [
        document
        for document in documents
        if recorded.case(document) == case and "profile" in document
    ]


def table() -> str:
    lines = [
        "| GPU | torch | cuDNN | arm | attention kernels | processes | attention, ms | step, ms |",
        "|---|---|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows(profiled(CASE, "h[12]00_*"))]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
