"""SwiGLU's gate, silu(gate) * up: two kernels in eager, one when fused. Rival: swiglu_triton."""

import torch
from torch import Tensor, nn

from benchmarks_suite.workload import Inputs, Workload

WIDTHS = {"smoke": 256, "standard": 14336}


class SwiGlu(nn.Module):
    def forward(self, gate: Tensor, up: Tensor) -> Tensor:
        """gate, up (rows, width)."""
        return nn.functional.silu(gate) * up


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    return gate_workload(SwiGlu(), WIDTHS[size], batch_size)


def gate_workload(module: nn.Module, width: int, batch_size: int) -> Workload:
    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "gate": torch.randn(batch_size, width, generator=generator),
            "up": torch.randn(batch_size, width, generator=generator),
        }

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: len(batch["gate"]),
        item="samples",
    )
