"""Prints how long causal models' attention takes in eager, without a mask, and compiled, where
transformers 5.17 writes one down.

    python docs/findings/recorded_masks.py

From the profiles in tests/data/h200_*: milliseconds of the GPU's own time in one step of inference,
medians of the processes.
"""

import sys
from collections.abc import Iterator
from itertools import product
from statistics import median

from recorded_attention import Document, measured, profiled

CASES = (
    "gpt2.standard.inference.bfloat16.static.b16",
    "qwen3.standard.inference.bfloat16.static.b8",
    "granite_moe.standard.inference.bfloat16.static.b8",
)
RELEASES = "2.11.0", "2.15.0"


def of_arm(documents: list[Document], arm: str) -> tuple[str, float, float]:
    """Whose attention kernels ran, their milliseconds, the whole step's."""
    families, attention_ms, step_ms = zip(
        *(measured(document, arm) for document in documents), strict=True
    )
    return ", ".join(sorted(set(families))), median(attention_ms), median(step_ms)


def rows() -> Iterator[tuple[str, ...]]:
    for benchmark, release in product(CASES, RELEASES):
        documents = []
        for document in profiled((benchmark, "inductor"), "h200_*"):
            if document["environment"]["torch"]["version"].startswith(release):
                documents.append(document)
        eager, compiled = (of_arm(documents, arm) for arm in ("eager", "compiled"))
        kernels = " and ".join(sorted({eager[0], compiled[0]}))
        times = (f"{ms:.2f}" for ms in (eager[1], compiled[1], compiled[2]))
        yield benchmark.partition(".")[0], release, str(len(documents)), kernels, *times


def table() -> str:
    lines = [
        "| model | torch | processes | attention kernels | in eager, ms | compiled, ms "
        "| compiled step, ms |",
        "|---|---|---|---|---|---|---|",
    ]
    lines += [f"| {' | '.join(row)} |" for row in rows()]
    return "\n".join(lines)


if __name__ == "__main__":
    sys.stdout.write(table() + "\n")
