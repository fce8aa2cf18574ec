"""The canary of a machine, its own matmul: one square matrix times another, as wide as the batch.

Measured in eager, it moves when the machine does. A job of it also measures the machine's ceilings
(harness/ceilings.py): they become its metrics, and later jobs on this machine report which share of
them they reach.
"""

import torch
from torch import nn

from benchmarks_suite.workload import Inputs, Workload


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    def inputs(index: int, generator: torch.Generator) -> Inputs:
        matrix = torch.randn(batch_size, batch_size, generator=generator)  # (rows, columns)
        return {"input": matrix}

    return Workload(
        module=nn.Linear(batch_size, batch_size, bias=False),
        inputs=inputs,
        items=lambda batch: batch["input"].shape[0],
        item="samples",
    )
