"""RMSNorm in plain torch: several passes over memory in eager, one when fused.

Rival: rms_norm_triton.
"""

from dataclasses import replace

import torch
from torch import Tensor, nn

from benchmarks_suite.workload import Inputs, Workload

WIDTHS = {"smoke": 256, "standard": 4096}
EPSILON = 1e-6


class RmsNorm(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Tensor) -> Tensor:
        """x (rows, width), normalized in float32 or wider."""
        wide = x.to(torch.promote_types(x.dtype, torch.float32))
        scale = torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + EPSILON)  # (rows, 1)
        return (wide * scale * self.weight).to(x.dtype)


def build(size: str, mode: str, shapes: str, batch_size: int) -> Workload:
    width = WIDTHS[size]
    workload = rows_workload(RmsNorm(width), batch_size, width)
    return replace(workload, library=lambda: nn.RMSNorm(width, EPSILON))


def rows_workload(module: nn.Module, *shape: int) -> Workload:
    """A module from rows of this shape, (..., width), to rows of the same."""

    def inputs(index: int, generator: torch.Generator) -> Inputs:
        return {
            "x": torch.randn(shape, generator=generator),
            "target": torch.randn(shape, generator=generator),
        }

    return Workload(
        module=module,
        inputs=inputs,
        items=lambda batch: batch["x"][..., 0].numel(),
        item="samples",
        call=lambda module, batch: module(batch["x"]),
        loss=lambda output, batch: nn.functional.mse_loss(output.float(), batch["target"].float()),
    )
